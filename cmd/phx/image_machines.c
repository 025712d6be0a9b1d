/* Which drivers the machines that the head knows need before they have their system: of the
 * controllers of their disks and of their network cards, as the kernel that runs there has them.
 * Reads only. */
#include "phx/image.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/nodeset.h"
#include "deploy/store.h"
#include "types/pci.h"

/* One driver for one model of device, and the nodes that have it. */
struct machine_device {
	struct phx_needed_driver needed;
	struct phx_nodeset nodes;
};

/* A device without a driver did without one so far. */
static bool is_needed(const struct phx_pci_facts *d)
{
	static const char *const kinds[] = {"storage", "network", "InfiniBand", "Fibre Channel"};
	const char *kind = phx_pci_kind(d);
	for (size_t i = 0; kind && d->driver[0] && i < PHX_ARRAY_SIZE(kinds); i++)
		if (!strcmp(kinds[i], kind))
			return true;
	return false;
}

static struct machine_device *find(const struct phx_list *devices, const char *driver,
				   const char *alias)
{
	PHX_LIST_EACH(struct machine_device, m, devices)
		if (!strcmp(m->needed.driver, driver) && !strcmp(m->needed.alias, alias))
			return m;
	return NULL;
}

/* The name of a driver is a word of a node: it becomes a word of a line. */
static bool is_word(const char *driver)
{
	return driver[0] && driver[0] != '-' && !driver[strcspn(driver, " \t\n/")];
}

static int add_device(struct phx_list *devices, const char *node, const struct phx_pci_facts *d)
{
	char alias[sizeof(((struct phx_needed_driver *)0)->alias)];
	snprintf(alias, sizeof(alias), "pci:v%08Xd%08Xsv00000000sd00000000bc%02Xsc%02Xi%02X",
		 d->vendor, d->device, d->class_code >> 16 & 0xff, d->class_code >> 8 & 0xff,
		 d->class_code & 0xff);
	if (!is_needed(d) || !is_word(d->driver))
		return 0;
	struct machine_device *m = find(devices, d->driver, alias);
	if (!m && !(m = phx_list_push(devices, sizeof(*m))))
		return -ENOMEM;
	PHX_STR_SET(m->needed.driver, d->driver);
	PHX_STR_SET(m->needed.alias, alias);
	snprintf(m->needed.what, sizeof(m->needed.what), "%s %04x:%04x", phx_pci_kind(d),
		 d->vendor & 0xffff, d->device & 0xffff);
	return phx_nodeset_has(&m->nodes, node) ? 0 : phx_nodeset_add(&m->nodes, node);
}

static int add_node(struct phx_list *devices, const json_t *node)
{
	size_t i;
	json_t *j;
	int r = 0;
	json_array_foreach(cli_member(node, "facts.pci"), i, j) {
		struct phx_pci_facts d;
		struct phx_err err = {0};
		if (r < 0 || phx_json_to_record(&phx_pci_facts_record, j, &d, &err) < 0)
			continue;
		r = add_device(devices, phx_json_str(node, "name", "?"), &d);
	}
	return r;
}

/* The nodes stand behind the device, as a list. */
static int finish(struct phx_list *devices, struct phx_list *ret)
{
	int r = 0;
	PHX_LIST_EACH(struct machine_device, m, devices) {
		PHX_AUTO_FREE char *names = phx_nodeset_fold(&m->nodes);
		struct phx_needed_driver *to = r == 0 ? phx_list_push(ret, sizeof(*to)) : NULL;
		if (!to || !names) {
			r = -ENOMEM;
		} else {
			size_t n = strlen(m->needed.what);
			*to = m->needed;
			snprintf(to->what + n, sizeof(to->what) - n, " of %.150s", names);
		}
		phx_nodeset_fini(&m->nodes);
	}
	phx_list_fini(devices);
	return r;
}

int cli_image_drivers(struct cli *cli, struct phx_list *ret)
{
	const char *nodes = cli_opt(cli, CLI_OPT_machines, NULL);
	PHX_AUTO_JSON json_t *list = NULL;
	struct phx_list devices = {0};
	size_t i;
	json_t *node;
	/* with a store of its own no machine is known */
	if (nodes ? !strcmp(nodes, "none") : !cli->head_answers)
		return CLI_OK;
	int r = 0, code = cli_nodes_select(cli, nodes, "name,facts", &list);
	if (code)
		return code;
	json_array_foreach(list, i, node)
		r = r ? r : add_node(&devices, node);
	int end = finish(&devices, ret);
	return r < 0 || end < 0 ? cli_fail(CLI_PARTIAL, "out of memory") : CLI_OK;
}
