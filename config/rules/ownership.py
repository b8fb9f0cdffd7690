"""Rules about who owns the files."""

from __future__ import annotations

from config.findings import Severity
from config.rules.model import Category, Rule

OWNERSHIP = Category(
    "ownership",
    "Ownership",
    "Where `.github/CODEOWNERS` has a block for teams, it says what the teams' files say.",
    (
        Rule(
            "codeowners-stale",
            (Severity.WARNING,),
            "CODEOWNERS doesn't say what the teams' files say",
            "The code host asks the wrong people, or nobody, to approve a change of a team's file.",
            "Run `hpctl onboard --codeowners`, and commit what it writes.",
            waivable=False,
        ),
        Rule(
            "owners-unreachable",
            (Severity.ADVICE,),
            "An owner can't be asked by the code host",
            "CODEOWNERS takes handles and e-mail addresses alone: this owner isn't asked to approve a change of the file.",
            "Write the handle of a person or of a group, as `@organization/team`, or an e-mail address.",
            source="GitHub's documentation, About code owners",
            waivable=False,
        ),
    ),
)
