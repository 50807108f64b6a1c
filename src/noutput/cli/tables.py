"""Tables and designs from files: certified, and with the name of the file in every error."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from noutput.designs.answers.result import AnswerDesign
    from noutput.designs.result import Design
    from noutput.mechanisms.answers import AnswerMechanism
    from noutput.mechanisms.table import TableMechanism

__all__ = ["read_table"]


def read_table(
    path: Path,
) -> tuple[TableMechanism | AnswerMechanism, Design | AnswerDesign | None]:
    """Return the certified table of a file, and the design where it is one."""
    from noutput.designs.answers.document import read as read_answers
    from noutput.designs.answers.result import AnswerDesign
    from noutput.designs.document import FORMAT, read
    from noutput.designs.result import Design
    from noutput.errors import InvalidArgumentError, PrivacyError
    from noutput.mechanisms.certified import Table
    from noutput.mechanisms.document import MAX_LENGTH, parse
    from noutput.mechanisms.table import unit_mechanism

    try:
        with path.open("rb") as stream:
            found = parse(stream.read(MAX_LENGTH + 1))
        if found.get("format") == FORMAT:
            numbers = "method" in found
            design = Design(**read(found)) if numbers else AnswerDesign(*read_answers(found))
            return design.mechanism, design
        return unit_mechanism(Table.from_document(found)), None
    except PrivacyError:
        raise
    except InvalidArgumentError as error:
        name = f"{error.name} in {str(path)!r}"
        raise InvalidArgumentError(name, error.rule, error.found) from None
