"""What must hold in the plan of each environment, whatever else changes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from am_server.identity.tiers import BUILT_IN, read_tiers
from am_server.store.indexes import EXPIRING, INDEXED
from am_server.wiring import SETTINGS, Settings

from tests.terraform.conftest import FUNCTIONS, REPOSITORY, Terraform

ENVIRONMENTS = ("dev", "staging", "prod")
LOCAL_SETTINGS = {"AM_DATA_DIR", "FIRESTORE_EMULATOR_HOST", "STORAGE_EMULATOR_HOST"}
OTHER_EMBEDDERS = {"OPENAI_API_KEY", "OPENAI_BASE_URL", "GOOGLE_CLOUD_LOCATION"}
PLATFORM_SETTINGS = {"THREADS"}

ROLES = {
    "health": {"roles/datastore.viewer", "roles/storage.objectViewer"},
    "keys": {"roles/datastore.user"},
    "space_token": {"roles/datastore.user"},
    "mcp": {"roles/datastore.user", "roles/storage.objectUser"},
    "memories": {"roles/datastore.user", "roles/storage.objectUser"},
    "maintenance": {"roles/datastore.user", "roles/storage.objectUser"},
}
SECRETS = {
    "health": set(),
    "keys": {"AM_KEY_PEPPER", "AM_ADMIN_TOKEN"},
    "space_token": {"AM_KEY_PEPPER", "JWT_SECRET"},
    "mcp": {"AM_KEY_PEPPER", "JWT_SECRET"},
    "memories": {"AM_KEY_PEPPER"},
    "maintenance": set(),
}


class Plan:
    """The planned resources of an environment."""

    def __init__(self, name: str, shown: Mapping[str, Any]) -> None:
        self.name = name
        self.resources = list(resources(shown["planned_values"]["root_module"]))

    def all(self, type: str) -> list[Mapping[str, Any]]:
        """The planned values of every resource of a type."""
        return [resource["values"] for resource in self.resources if resource["type"] == type]

    def one(self, type: str) -> Mapping[str, Any]:
        (found,) = self.all(type)
        return found

    def of_function(self, function: str, type: str) -> list[Mapping[str, Any]]:
        """The planned values of the resources of a type in a function's module."""
        inside = f'module.function["{function}"].'
        return [resource["values"] for resource in self.resources if resource["type"] == type and inside in resource["address"]]

    def service(self, function: str) -> Mapping[str, Any]:
        (planned,) = self.of_function(function, "google_cloudfunctions2_function")
        config: Mapping[str, Any] = planned["service_config"][0]
        return config


def resources(module: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from module.get("resources", [])
    for child in module.get("child_modules", []):
        yield from resources(child)


@pytest.fixture(scope="session")
def plans(terraform: Terraform) -> dict[str, Plan]:
    return {name: Plan(name, terraform.plan(name)) for name in ENVIRONMENTS}


@pytest.fixture(params=ENVIRONMENTS)
def plan(request: pytest.FixtureRequest, plans: dict[str, Plan]) -> Plan:
    return plans[request.param]


def test_nothing_stored_is_public(plan: Plan) -> None:
    buckets = plan.all("google_storage_bucket")
    assert len(buckets) == 2
    for bucket in buckets:
        assert bucket["public_access_prevention"] == "enforced"
        assert bucket["uniform_bucket_level_access"] is True
    kinds = ("storage_bucket", "secret_manager_secret", "project")
    members = [member.get("member") for kind in kinds for member in plan.all(f"google_{kind}_iam_member")]
    assert not {"allUsers", "allAuthenticatedUsers"} & set(members)


def test_every_function_is_there_and_private(plan: Plan) -> None:
    for function in FUNCTIONS:
        assert plan.service(function)
        inside = f'module.function["{function}"].google_cloud_run_service_iam_member.invoker'
        (invoker,) = [resource["address"] for resource in plan.resources if inside in resource["address"]]
        assert invoker.endswith('["scheduler"]' if function == "maintenance" else '["gateway"]')
    assert plan.service("maintenance")["ingress_settings"] == "ALLOW_INTERNAL_ONLY"


def test_production_is_protected_and_can_be_restored(plans: dict[str, Plan]) -> None:
    database = plans["prod"].one("google_firestore_database")
    assert database["delete_protection_state"] == "DELETE_PROTECTION_ENABLED"
    assert database["deletion_policy"] == "PREVENT"
    assert database["point_in_time_recovery_enablement"] == "POINT_IN_TIME_RECOVERY_ENABLED"
    backup = plans["prod"].one("google_firestore_backup_schedule")
    assert backup["retention"] == "1209600s"
    assert backup["daily_recurrence"]
    assert plans["dev"].one("google_firestore_database")["deletion_policy"] == "DELETE"


def test_the_database_is_in_one_region(plan: Plan) -> None:
    database = plan.one("google_firestore_database")
    assert (database["location_id"], database["type"]) == ("us-central1", "FIRESTORE_NATIVE")
    assert database["database_edition"] == "STANDARD"


def test_threads_are_as_many_as_requests(plan: Plan) -> None:
    for function in FUNCTIONS:
        service = plan.service(function)
        assert service["environment_variables"]["THREADS"] == str(service["max_instance_request_concurrency"])
        if float(service["available_cpu"]) < 1:
            assert service["max_instance_request_concurrency"] == 1
        assert service["min_instance_count"] == 0
        assert 1 <= service["max_instance_count"] <= 20


def test_each_account_has_the_roles_it_needs_and_no_other(plan: Plan) -> None:
    for function in FUNCTIONS:
        on_project = plan.of_function(function, "google_project_iam_member")
        on_buckets = plan.of_function(function, "google_storage_bucket_iam_member")
        assert {member["role"] for member in [*on_project, *on_buckets]} == ROLES[function]
        on_secrets = plan.of_function(function, "google_secret_manager_secret_iam_member")
        assert {member["role"] for member in on_secrets} <= {"roles/secretmanager.secretAccessor"}
        for member in on_project:
            assert "/databases/(default)" in member["condition"][0]["expression"]
    others = [
        r["values"] for r in plan.resources if r["type"] == "google_project_iam_member" and "module.function" not in r["address"]
    ]
    assert [member["role"] for member in others] == ["roles/logging.logWriter"]


def test_each_function_gets_the_secrets_it_reads_and_no_other(plan: Plan) -> None:
    for function in FUNCTIONS:
        given = {variable["key"] for variable in plan.service(function).get("secret_environment_variables") or []}
        assert given == SECRETS[function]


def test_every_setting_that_the_code_reads_is_set_and_no_other(plan: Plan) -> None:
    together = set()
    for function in FUNCTIONS:
        service = plan.service(function)
        given = set(service["environment_variables"]) | SECRETS[function]
        assert given <= set(SETTINGS) | PLATFORM_SETTINGS
        together |= given
    assert set(SETTINGS) - together == LOCAL_SETTINGS | OTHER_EMBEDDERS


def test_the_settings_can_be_read(plan: Plan) -> None:
    for function in FUNCTIONS:
        environment = {
            name: value or "known after apply" for name, value in plan.service(function)["environment_variables"].items()
        }
        settings = Settings.read(environment)
        assert (settings.store, settings.objects) == ("firestore", "gcs")
        assert settings.auth_header == "X-Forwarded-Authorization"
        assert settings.anonymous_rest is False
        assert settings.signup_tiers <= set(BUILT_IN)


def test_the_tiers_are_those_of_the_code(plan: Plan) -> None:
    for function in FUNCTIONS:
        assert dict(read_tiers(plan.service(function)["environment_variables"]["AM_TIERS"])) == dict(BUILT_IN)


def test_every_query_has_its_index_and_nothing_else_has_one(plan: Plan) -> None:
    fields = plan.all("google_firestore_field")
    indexed: dict[str, list[str]] = {}
    for field in fields:
        orders = {index["order"] for index in field["index_config"][0].get("indexes") or []}
        if orders:
            assert orders == {"ASCENDING", "DESCENDING"}
            indexed.setdefault(field["collection"], []).append(field["field"])
    assert {name: sorted(found) for name, found in indexed.items()} == {name: sorted(found) for name, found in INDEXED.items()}
    exempt = {field["collection"] for field in fields if field["field"] == "*"}
    assert exempt >= set(INDEXED) | set(EXPIRING)


def test_every_expiring_field_expires_and_is_not_indexed(plan: Plan) -> None:
    expiring = {field["collection"]: field for field in plan.all("google_firestore_field") if field.get("ttl_config")}
    assert {name: field["field"] for name, field in expiring.items()} == dict(EXPIRING)
    for field in expiring.values():
        assert not field["index_config"][0].get("indexes")


def test_every_public_function_has_a_route_and_no_other() -> None:
    routes = json.loads((REPOSITORY / "infra" / "routes.json").read_text())
    assert {route["function"] for route in routes} == set(FUNCTIONS) - {"maintenance"}


def test_secrets_are_in_no_plan(plan: Plan) -> None:
    shown = json.dumps(plan.resources)
    assert "a value of more than twenty characters" not in shown


def test_the_alerts_reach_somebody(plan: Plan) -> None:
    titles = " ".join(policy["display_name"] for policy in plan.all("google_monitoring_alert_policy"))
    for subject in ("5xx", "95 of 100", "quota", "/health"):
        assert subject in titles
    assert [channel["labels"] for channel in plan.all("google_monitoring_notification_channel")] == [
        {"email_address": "a@example.com"}
    ]


def test_maintenance_runs_once_a_day(plan: Plan) -> None:
    job = plan.one("google_cloud_scheduler_job")
    assert job["schedule"].split()[2:] == ["*", "*", "*"]
    assert job["http_target"][0]["http_method"] == "POST"
    assert int(job["attempt_deadline"].rstrip("s")) == plan.service("maintenance")["timeout_seconds"]
