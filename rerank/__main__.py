"""``python -m rerank``."""

from rerank.cli import main

if __name__ == "__main__":
    main()
