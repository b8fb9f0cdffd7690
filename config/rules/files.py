"""Rules about files and their YAML."""

from __future__ import annotations

from functools import partial

from config.rules.model import Category, Example, error, warning

_file = partial(error, waivable=False)
_SPEC = "YAML 1.2.2, chapter 10.3 (core schema); YAML 1.1"

FILES = Category(
    "files",
    "Files",
    "How data files are read: plain YAML 1.2, so that an editor, a linter and this program never disagree on what a file says.",
    (
        _file(
            "environments-none",
            "A project without an environment",
            "There is nothing to check or to deploy, and a green check would hide it.",
            "Write `environments/<name>.yaml`; or name the project's folder with `--project`.",
        ),
        _file(
            "environment-unknown",
            "An environment that no file declares",
            "A team's override for it would never apply, and a team that is `only` in it would exist nowhere.",
            "Correct the spelling, or write `environments/<name>.yaml`.",
            example=Example(team="environments: {prdo: {weight: 20}}"),
        ),
        _file(
            "base-cycle",
            "Environments that inherit from each other in a circle",
            "No file has the last word.",
            "Remove `base` from one of them.",
            example=Example(environment="base: dev"),
        ),
        _file(
            "file-ignored",
            "A file whose ending is not read",
            "A team in `teams/nlp.yml` would not exist; were it read before, it would be removed.",
            "Let its name end in `.yaml`.",
        ),
        _file(
            "folder-ignored",
            "A folder among data files",
            "Folders are not looked into: teams in them would not exist.",
            "Move its files up.",
        ),
        _file(
            "folder-unreadable",
            "A folder that can't be read",
            "Every team or environment in it would count as removed.",
            "Make it a readable folder.",
        ),
        _file(
            "file-unreadable",
            "A file that can't be read",
            "Its team or environment would count as removed.",
            "Make it a readable, plain file; or remove it.",
        ),
        _file(
            "file-too-large",
            "A file above 1 MiB",
            "It is a mistake or an attack, and reading it would hold up every run.",
            "Data files are far smaller; look at what it holds.",
        ),
        _file(
            "file-shape",
            "A file that is no map",
            "A list or a single word has no fields.",
            "Write `key: value` lines.",
        ),
        _file(
            "yaml-syntax",
            "Text that is not YAML",
            "Nothing of the file can be read.",
            "Look at the line of the message and the one above: indentation, a missing quote, bracket or colon.",
            source="YAML 1.2.2",
            example=Example(team="labels: {tier: gold"),
        ),
        _file(
            "yaml-encoding",
            "A file that is not UTF-8",
            "Names would be read as other letters.",
            "Save it as UTF-8.",
            source="YAML 1.2.2, chapter 5.2",
        ),
        _file(
            "yaml-empty",
            "An empty file",
            "It may be a file that was saved half-way: taken as it is, its team would have nothing.",
            "Fill it, or remove it.",
        ),
        _file(
            "yaml-depth",
            "YAML that is nested too deeply",
            "The declarations need 8 levels; a file of thousands would stop any reader.",
            "Put less inside one another.",
            example=Example(team=f"labels: {'[' * 30}{']' * 30}"),
        ),
        _file(
            "yaml-duplicate-key",
            "A key that stands twice",
            "Readers keep the first or the last, each as it likes: half of the quota would be gone without a word.",
            "Keep one.",
            source="YAML 1.2.2, chapter 3.2.1.1: keys are unique",
            example=Example(team="labels: {tier: gold, tier: silver}"),
        ),
        _file(
            "yaml-word",
            "A word that is a truth value to some readers",
            "`yes`, `no`, `on`, `off` are truth values in YAML 1.1 and words in 1.2.",
            "Write true or false; or quote it where the word is meant.",
            source=_SPEC,
            example=Example(team="default_queue: yes"),
        ),
        _file(
            "yaml-number",
            "A number or date that readers take for different things",
            "`1.30` loses its last digit, `012` is ten or twelve, `12:30` is 750 to readers of YAML 1.1.",
            "Write it as the message says; quote it where text is meant.",
            source=_SPEC,
            example=Example(team="weight: 010"),
        ),
        _file(
            "yaml-alias",
            "An anchor or alias",
            "A change at one place would change another, which no review shows.",
            "Write the value out. Environments share through `base`, teams through `environments`.",
            example=Example(team="labels: &own {tier: gold}\naccess: *own"),
        ),
        _file(
            "yaml-merge",
            "A merge key",
            "`<<` is an extension of YAML 1.1 that 1.2 doesn't have: some readers see a key of that name.",
            "Write the values out, or use `base`.",
            source="YAML 1.2.2; YAML 1.1, merge key",
            example=Example(team="labels: {<<: {tier: gold}}"),
        ),
        _file(
            "yaml-tag",
            "A tag",
            "A tag can make a reader run code, or read a value as another type.",
            "Remove it.",
            example=Example(team="description: !!binary aGVsbG8="),
        ),
        _file(
            "yaml-key",
            "A key that is no plain word",
            "Fields have names; a list or map as a key names none.",
            "Write `key: value`.",
            example=Example(team="labels: {[tier]: gold}"),
        ),
        _file(
            "override-identity",
            "An override of what a team is",
            "A team has one name and one list of environments; two in one file would be two teams.",
            "Remove the key from below `environments`.",
            example=Example(team="environments: {dev: {name: other}}"),
        ),
        warning(
            "quota-adds-up",
            "An override whose amounts add to those of the file",
            "Maps merge by key: `instances` of all environments and `accelerators` of this one both count, and the team has more "
            "than anybody meant.",
            "Set what shall not count to null in the override.",
            example=Example(team="environments: {dev: {quota: {ml.p5.48xlarge: {instances: 1}}}}"),
        ),
    ),
)
