"""Rules about who owns the files."""

from __future__ import annotations

from config.rules.model import Category, advice, error, warning

OWNERSHIP = Category(
    "ownership",
    "Ownership",
    "Where `.github/CODEOWNERS` has a block for teams, it says what the teams' files say. `hpctl onboard` keeps both.",
    (
        error(
            "team-exists",
            "A team's file is there already",
            "To write it anew would take the team's settings away.",
            "Change the file, or choose another name.",
            waivable=False,
        ),
        warning(
            "codeowners-stale",
            "CODEOWNERS doesn't say what the teams' files say",
            "The code host asks the wrong people, or nobody, to approve a change of a team's file.",
            "Run `hpctl onboard --codeowners`, and commit what it writes.",
            waivable=False,
        ),
        advice(
            "owners-unreachable",
            "An owner can't be asked by the code host",
            "CODEOWNERS takes handles and e-mail addresses alone: this owner isn't asked to approve a change of the file.",
            "Write the handle of a person or of a group, as `@organization/team`, or an e-mail address.",
            source="GitHub's documentation, About code owners",
            waivable=False,
        ),
    ),
)
