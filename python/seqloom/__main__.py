"""`seqloom` and `python -m seqloom`: the program itself, in place of this interpreter."""

import os
import sys

from ._run import program


def main() -> None:
    """Becomes the program."""
    os.execv(program(), ["seqloom", *sys.argv[1:]])


if __name__ == "__main__":
    main()
