"""``python -m core.embedded [--welcome FILE] [--seed NAME]``: the whole site on this machine, until Ctrl-C."""

import os
import sys
from argparse import ArgumentParser
from pathlib import Path

from core.embedded.folder import EmbeddedError
from core.embedded.services import BASE_DIR, port_from_environment, say
from core.embedded.supervisor import Supervisor
from core.env import env_path


def main() -> int:
    parser = ArgumentParser(prog="python -m core.embedded", description="Run the whole site until Ctrl-C.")
    parser.add_argument("--welcome", type=Path, help="what to show once it answers", metavar="FILE")
    parser.add_argument("--seed", default="", help="run manage.py seed_NAME then", metavar="NAME")
    options = parser.parse_args()
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings.local"
    try:
        var, port = env_path("MOMENTJUDGE_VAR", BASE_DIR / "var"), port_from_environment()
        return Supervisor(var=var, port=port, welcome=options.welcome, seed=options.seed).run()
    except EmbeddedError as error:
        say(f"\nMomentJudge: {error}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
