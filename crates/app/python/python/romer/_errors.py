"""The exceptions of romer. Their texts are those of the command line."""


class Error(Exception):
    """The base class of the exceptions of romer."""


class InputError(Error, ValueError):
    """An argument, or the content of a file, cannot be used."""


class FileError(Error, OSError):
    """The system refuses a file: it does not exist, or cannot be read or written."""
