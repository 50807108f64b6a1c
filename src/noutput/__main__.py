"""`python -m noutput` is the same as `noutput`."""

from noutput.cli import main

if __name__ == "__main__":
    main()
