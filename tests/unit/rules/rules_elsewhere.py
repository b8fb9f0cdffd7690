"""Rules that no change of an environment's or a team's file can show: running clusters, unreadable files, cases, stacks.

By rule, the test that shows it.
"""

from __future__ import annotations

_YAML = "tests/unit/config/test_config_yaml.py"
_LOAD = "tests/unit/config/test_config_load.py"
_STACK = "tests/unit/config/test_config_stack.py"
_CHECKS = "tests/unit/governance/test_governance_checks.py"
_GUARDS = "tests/unit/live/test_guards.py"
_LOSSES = "tests/unit/live/test_losses.py"
_VERBS = "tests/unit/cli/test_verbs.py"
_ONBOARD = "tests/unit/cli/test_onboard.py"
_PERMISSIONS = "tests/unit/cli/test_permissions.py"
_PROGRAM = "tests/components/test_component_program.py"
_AWS = "tests/engine/test_aws_stacks.py"
_ADOPTION = "tests/unit/adoption/test_adoption_findings.py"
_CASES = "tests/unit/simulation/test_cases.py"
_KINDS = "tests/unit/simulation/test_cases_kinds.py"
_JOBS = "tests/unit/governance/jobs/test_job_findings.py"
_JOB_MISTAKES = f"{_JOBS}::test_a_mistake_is_told_at_its_option"
_JOB_ELASTIC = "tests/unit/governance/jobs/test_job_elastic.py"
_JOB_VERB = "tests/unit/cli/test_job_verb.py"
_MISTAKES = f"{_CASES}::test_a_mistake_is_told_with_its_line"
_ORDER = f"{_CASES}::test_a_workload_must_be_submitted_before_it_is_used"

_TRACES = "tests/unit/simulation/test_traces.py"
_TABLES = "tests/unit/simulation/test_traces_csv.py"
_LOADS = "tests/unit/simulation/test_traces_generated.py"

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
    # teams, ownership, backends
    "team-unknown": _MISTAKES,
    "team-exists": f"{_ONBOARD}::test_a_file_that_is_there_is_never_touched",
    "codeowners-stale": f"{_ONBOARD}::test_codeowners_out_of_step_is_a_warning_at_its_block",
    "owners-unreachable": f"{_ONBOARD}::test_codeowners_out_of_step_is_a_warning_at_its_block",
    "queue-too-large": f"{_CHECKS}::test_more_types_than_a_queue_holds",
    # removal
    "flavor-in-use": f"{_GUARDS}::test_a_flavor_in_use_must_stay",
    "cluster-replaced": f"{_GUARDS}::test_a_protected_cluster_is_not_replaced",
    "team-not-drained": f"{_GUARDS}::test_a_team_that_was_not_drained_can_not_go",
    "team-still-runs": f"{_GUARDS}::test_a_drained_team_that_still_runs_can_not_go_yet",
    "cluster-unseen": f"{_GUARDS}::test_a_team_on_a_cluster_that_does_not_answer_can_not_go",
    "stack-protected": f"{_LOSSES}::test_a_protected_stack_is_refused_before_anything_goes",
    # stacks
    "project-missing": f"{_STACK}::test_no_project",
    "layers": f"{_STACK}::test_layers_that_are_none",
    "stack-environment": f"{_STACK}::test_an_environment_that_is_no_text",
    "kubeconfig-missing": f"{_PROGRAM}::test_a_declared_kubeconfig_that_is_missing_is_not_made_up_for",
    "platform-stack-missing": f"{_AWS}::test_a_platform_stack_that_is_not_named_is_a_finding",
    "permissions-none": f"{_PERMISSIONS}::test_no_permissions_where_nothing_is_built",
    # feasibility
    "instance-type-numbers": "tests/unit/governance/test_governance_amounts.py::test_a_type_whose_numbers_are_not_known",
    "weights-all-zero": "tests/unit/governance/test_feasibility.py::test_fair_share_without_a_weight",
    # adoption
    "import-differs": f"{_ADOPTION}::test_what_the_first_up_would_change_is_a_warning_at_its_file",
    "import-left": f"{_ADOPTION}::test_what_no_declaration_says_is_left_and_told",
    "import-type-unknown": f"{_ADOPTION}::test_a_flavor_whose_type_nobody_tells_is_an_error_until_somebody_does",
    "import-type-twice": f"{_ADOPTION}::test_two_flavors_of_one_type_are_an_error",
    "import-conflict": f"{_ADOPTION}::test_files_that_are_there_are_not_written_over",
    "import-empty": f"{_ADOPTION}::test_a_cluster_without_queues_has_nothing_to_import",
    # traces
    "trace-ending": f"{_TRACES}::test_a_file_of_another_ending_is_told",
    "trace-too-large": f"{_TRACES}::test_more_jobs_than_a_replay_takes_are_told",
    "csv-header": f"{_TABLES}::test_a_mistake_is_told_with_its_line_and_column",
    "csv-row": f"{_TABLES}::test_a_mistake_is_told_with_its_line_and_column",
    **dict.fromkeys(
        ("jobs-none", "job-twice", "job-every", "time-negative", "instance-type-missing"),
        f"{_TRACES}::test_a_mistake_is_told_with_its_line",
    ),
    **dict.fromkeys(("load-rate", "load-run-time"), f"{_LOADS}::test_a_mistake_is_told_with_its_line"),
    # workloads
    "kind-framework": f"{_KINDS}::test_a_kind_that_kueue_does_not_integrate_is_told",
    "cases-none": f"{_CASES}::test_files_of_another_ending_and_no_files_at_all_are_told",
    "case-twice": f"{_CASES}::test_case_names_are_unique_over_all_files",
    "case-unknown": f"{_CASES}::test_only_the_named_cases_are_chosen",
    "workload-early": _ORDER,
    "workload-unused": _ORDER,
    **dict.fromkeys(
        (
            "workload-unknown",
            "workload-twice",
            "workload-gone",
            "team-inactive",
            "instance-group-unknown",
            "per-pod",
            "pod-too-large",
            "max-run-time",
            "topology-mode",
            "topology-level",
            "step-actions",
            "step-option",
            "one-domain",
            "nodes-unused",
            "nodes-count",
        ),
        _MISTAKES,
    ),
    **dict.fromkeys(
        (
            "kind-field",
            "space-pods",
            "elastic-pods",
            "elastic-counts",
            "elastic-priority",
            "verdict-kind",
            "replicas-kind",
            "replicas-count",
            "scale-kind",
        ),
        f"{_KINDS}::test_a_mistake_is_told_with_its_line",
    ),
    # jobs
    **dict.fromkeys(
        (
            "job-name",
            "job-kind",
            "job-option",
            "job-cluster",
            "job-type",
            "job-framework",
            "job-amounts",
            "job-too-large",
            "job-block",
        ),
        _JOB_MISTAKES,
    ),
    "job-framework-managed": f"{_JOBS}::test_on_the_managed_backend_kinds_beyond_aws_documentation_are_a_warning",
    "job-entry-point": f"{_JOBS}::test_on_the_managed_backend_kinds_beyond_aws_documentation_are_a_warning",
    "job-uncovered": f"{_JOBS}::test_a_resource_that_the_queue_does_not_count",
    "job-growth": f"{_JOB_ELASTIC}::test_growth_beyond_the_reach_is_a_warning_and_a_base_beyond_it_an_error",
    "job-borrows": f"{_JOBS}::test_beyond_the_guarantee_is_advice",
    "job-no-nodes": f"{_JOBS}::test_too_few_nodes_are_a_warning",
    "job-block-assumed": f"{_JOBS}::test_blocks_of_a_real_cluster_are_known_to_its_labels_alone",
    "job-priority": f"{_JOBS}::test_no_priority_class_is_advice",
    "job-elastic": f"{_JOB_ELASTIC}::test_a_policy_that_cannot_be",
    "job-elastic-priority": f"{_JOB_ELASTIC}::test_an_elastic_part_that_does_not_rank_below_is_told",
    "job-hyperpod-cli": f"{_JOBS}::test_a_kind_without_a_command_of_the_hyperpod_cli",
    "job-exists": f"{_JOB_VERB}::test_what_is_there_already_stays",
    "job-refused": f"{_JOB_VERB}::test_what_the_server_says_is_a_sentence",
}
