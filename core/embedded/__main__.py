"""``python -m core.embedded``: the whole site on this machine, until Ctrl-C."""

import os
import sys

from core.embedded.folder import EmbeddedError
from core.embedded.services import BASE_DIR, port_from_environment, say
from core.embedded.supervisor import Supervisor
from core.env import env_path


def main() -> int:
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings.local"
    try:
        return Supervisor(var=env_path("MOMENTJUDGE_VAR", BASE_DIR / "var"), port=port_from_environment()).run()
    except EmbeddedError as error:
        say(f"\nMomentJudge: {error}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
