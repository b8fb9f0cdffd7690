"""Rules about waivers themselves."""

from __future__ import annotations

from config.rules.model import Category, Example, advice, error, warning

WAIVERS = Category(
    "waivers",
    "Waivers",
    "A waiver sets a finding aside for a while, with a reason. What is wrong with a waiver can't be waived in turn.",
    (
        error(
            "waiver-rule-unknown",
            "A waiver names a rule that doesn't exist",
            "It would set nothing aside, and its author believes that it does.",
            "Name the rule as findings show it, in brackets at the end of the line.",
            waivable=False,
            example=Example(environment="waivers: {overcomit: {reason: nodes come in May, until: 2999-01-01}}"),
        ),
        error(
            "waiver-not-allowed",
            "A waiver is not allowed here",
            "Some findings leave nothing sensible to build. And errors are the platform team's to set aside: a team's file is "
            "changed by the team itself.",
            "Mend what the finding says; or, for an error that may be set aside, write the waiver in the environment's file.",
            waivable=False,
            example=Example(team="waivers: {yaml-word: {reason: it is a word to us, until: 2999-01-01}}"),
        ),
        warning(
            "waiver-expired",
            "A waiver is past its date",
            "What it set aside counts again.",
            "Mend what it set aside, and remove it; or give it another date and say why.",
            waivable=False,
            example=Example(environment="waivers: {overcommit: {reason: nodes come in May, until: 2020-05-31}}"),
        ),
        advice(
            "waiver-unused",
            "A waiver sets nothing aside",
            "What it was for is mended. Left in place, it would hide the next finding of that rule.",
            "Remove it; where only some environments need it, write it for those alone.",
            waivable=False,
            example=Example(environment="waivers: {overcommit: {reason: nodes come in May, until: 2999-01-01}}"),
        ),
    ),
)
