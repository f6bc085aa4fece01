"""`python -m vfpilco`."""

import sys

from vfpilco.cli import main

sys.exit(main())
