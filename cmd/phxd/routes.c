/* The route table of phxd: API.md as code. One row a route. */
#include "phxd/daemon.h"

enum { U = 1u << PHX_HTTP_UNIX, T = 1u << PHX_HTTP_TLS, P = 1u << PHX_HTTP_PLAIN };
enum { SMALL = 64 << 10, LARGE = 1 << 20, FILE_MAX_MB = 64 };

const struct phx_http_route routes[] = {
	{ "GET", "/v1/status", U | T, api_status, 0, false },
	{ "GET", "/v1/nodes", U | T, api_nodes, 0, false },
	{ "POST", "/v1/nodes", U | T, api_node_add, SMALL, false },
	{ "GET", "/v1/nodes/*", U | T, api_node, 0, false },
	{ "GET", "/v1/nodes/*/erasures", U | T, api_erasures, 0, false },
	{ "POST", "/v1/actions/*", U | T, api_action, LARGE, false },
	{ "GET", "/v1/roles", U | T, api_roles, 0, false },
	{ "GET", "/v1/roles/*", U | T, api_role, 0, false },
	{ "GET", "/v1/rules/match", U | T, api_rules_match, 0, false },
	{ "POST", "/v1/reload", U | T, api_reload, SMALL, false },
	{ "GET", "/v1/images", U | T, api_images, 0, false },
	{ "GET", "/v1/packages", U | T, api_packages, 0, false },
	{ "GET", "/v1/events", U | T, api_events, 0, false },
	{ "GET", "/v1/config", U | T, api_config, 0, false },
	{ "GET", "/v1/metrics", U | T, api_metrics, 0, false },
	{ "GET", "/v1/jobs", U | T, api_jobs, 0, false },
	{ "POST", "/v1/jobs", U | T, api_job_submit, SMALL, false },
	{ "GET", "/v1/jobs/*", U | T, api_job, 0, false },
	{ "POST", "/v1/jobs/*/cancel", U | T, api_job_cancel, SMALL, false },
	{ "GET", "/v1/jobs/*/output", U | T, api_job_output, 0, false },
	{ "POST", "/v1/agent/enrol", T, api_enrol, SMALL, false },
	{ "POST", "/v1/agent/hello", T, api_hello, LARGE, false },
	{ "POST", "/v1/agent/beat", T, api_beat, SMALL, false },
	{ "POST", "/v1/agent/result", T, api_result, SMALL, false },
	{ "POST", "/v1/agent/inventory", T, api_inventory, LARGE, false },
	{ "GET", "/v1/agent/disk-key/*", T, api_disk_key, 0, false },
	{ "PUT", "/v1/agent/jobs/*/output", T, api_job_output_put, (size_t)FILE_MAX_MB << 20, true },
	{ "GET", "/boot/*", P, api_boot, 0, false },
	{ "GET", "/images/*/*/**", T | P, api_image_file, 0, false },
	{ "GET", "/site.cpio", T | P, api_site_cpio, 0, false },
	{ "GET", "/ipxe/*", P, api_ipxe_file, 0, false },
	{ "GET", "/packages/*", T, api_package_file, 0, false },
};
const size_t n_routes = PHX_ARRAY_SIZE(routes);
