"""Rules that no change of a project's data files can show: running clusters, files that can't be read, cases, stacks.

By rule, the test that shows it.
"""

from __future__ import annotations

_YAML = "tests/unit/config/test_config_yaml.py"
_LOAD = "tests/unit/config/test_config_load.py"
_CHECKS = "tests/unit/governance/test_governance_checks.py"
_VERBS = "tests/unit/cli/test_verbs.py"
_CASES = "tests/unit/simulation/test_cases.py"

SHOWN_ELSEWHERE = {
    # files
    "environments-none": f"{_VERBS}::test_no_environment_is_a_finding",
    "file-ignored": f"{_LOAD}::test_files_that_would_be_passed_over_are_findings",
    "folder-ignored": f"{_LOAD}::test_files_that_would_be_passed_over_are_findings",
    "folder-unreadable": f"{_LOAD}::test_folders_that_are_none",
    "file-unreadable": f"{_YAML}::test_a_folder_a_pipe_and_a_loop_are_not_files",
    "file-too-large": f"{_YAML}::test_a_file_above_a_mebibyte_is_not_read",
    "file-shape": f"{_LOAD}::test_a_base_that_is_broken_or_missing",
    "yaml-encoding": f"{_YAML}::test_a_file_that_is_not_utf_8",
    "yaml-empty": f"{_YAML}::test_what_plain_data_files_must_not_hold",
    # teams
    "team-unknown": f"{_CASES}::test_a_mistake_is_told_with_its_line",
    # backends
    "queue-too-large": f"{_CHECKS}::test_more_types_than_a_queue_holds",
}
