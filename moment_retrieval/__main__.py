"""Run the command line as ``python -m moment_retrieval``."""

import sys

from moment_retrieval.cli import main

if __name__ == "__main__":
    sys.exit(main())
