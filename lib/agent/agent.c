/* Functions that the parts of the agent share: see agent.h. */
#include "agent/agent.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/record_file.h"
#include "inventory/inventory.h"

enum { FACTS_MAX = 1 << 20 };

int agent_client(void *agent, struct phx_http_client **ret, struct phx_err *err)
{
	const struct agent *a = agent;
	PHX_AUTO_FREE char *url = phx_path("https://%s", a->cfg.server);
	PHX_AUTO_FREE char *cert = phx_path("%s/agent.pem", a->cfg.state_dir);
	PHX_AUTO_FREE char *key = phx_path("%s/agent.key", a->cfg.state_dir);
	struct phx_http_client_config config = {.base_url = url,
						.ca_pem_path = a->cfg.ca,
						.cert_pem_path = cert,
						.key_pem_path = key};
	return url && cert && key ? phx_http_client_new(&config, ret, err) : -ENOMEM;
}

void agent_wait_ms(struct agent *a, uint32_t ms)
{
	int64_t due_ms = phx_clock_ms() + ms;
	LOOP_HELD(a->loop);
	while (!agent_stopping(a) && loop_wait(a->loop, due_ms))
		;
}

void agent_node_name(struct agent *a, char ret[PHX_NAME_MAX])
{
	LOOP_HELD(a->loop);
	phx_str_copy(ret, PHX_NAME_MAX, a->node);
}

void agent_set_trouble(struct agent *a, const char *text)
{
	LOOP_HELD(a->loop);
	snprintf(a->trouble, sizeof(a->trouble), "%s", text ? text : "");
}

static uint32_t all_cpus_milli(struct agent *a)
{
	LOOP_HELD(a->loop);
	uint32_t cpus = a->facts.cpus;
	return 1000 * (cpus ? cpus : (uint32_t)sysconf(_SC_NPROCESSORS_ONLN));
}

int agent_limit(struct agent *a, const struct phx_role *role, struct phx_err *err)
{
	if (!role->services.n || web_measures(a->web))
		return 0;
	int r = services_limit(a->services, err);
	if (r == 0)
		web_measure(a->web, role->web.cpu_milli ? role->web.cpu_milli : all_cpus_milli(a));
	return r;
}

int agent_read_facts(struct agent *a, struct phx_err *err)
{
	struct phx_facts facts;
	int r = a->cfg.facts_file[0]
		? phx_record_file_read(a->cfg.facts_file, FACTS_MAX, &phx_facts_record, &facts, err)
		: phx_inventory_read(a->cfg.fact_root, &facts, err);
	if (r < 0)
		return r;
	LOOP_HELD(a->loop);
	neighbors_add(a->neighbors, &facts.nics);
	bool same = phx_record_equal(&phx_facts_record, &a->facts, &facts);
	phx_record_fini(&phx_facts_record, &a->facts);
	a->facts = facts;
	return same ? 0 : 1;
}
