/* phx site dhcp, phx site hosts: what the settings and the head know of networks and nodes, for
 * other programs of the site. Nothing is changed anywhere. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "config/site.h"
#include "deploy/deploy.h"
#include "phx/cli.h"

static void say(void *arg, const char *text)
{
	(void)arg;
	cli_fail(CLI_CONFIG, "%s", text);
}

/* The settings of the configuration, empty if there are none; an exit code, told. */
static int load(const struct phx_config *cfg, struct phx_site *ret)
{
	struct phx_err err = {0};
	*ret = (struct phx_site){0};
	int r = phx_site_load(cfg->site_dir, say, NULL, ret, &err);
	if (r < 0 && r != -ENOENT)
		cli_fail(CLI_CONFIG, "%s", err.text[0] ? err.text : strerror(-r));
	return r && r != -ENOENT ? CLI_CONFIG : CLI_OK;
}

static struct phx_dhcp_site dhcp_of(const struct phx_site *s)
{
	return (struct phx_dhcp_site){&s->networks, s->serve_names, s->forward_dns, s->domain};
}

static int print_text(struct cli *cli, const char *text)
{
	PHX_AUTO_JSON json_t *whole = NULL;
	if (cli->format == CLI_TABLE) {
		fputs(text, stdout);
		return CLI_OK;
	}
	whole = json_pack("{s:s}", "text", text);
	return whole && cli_print_value(cli, whole) == 0 ? CLI_OK : CLI_PARTIAL;
}

/* ---- phx site dhcp ---- */

static bool host_of(const json_t *node, struct phx_dhcp_host *ret)
{
	const json_t *first = json_array_get(json_object_get(node, "macs"), 0);
	const char *mac = phx_json_str(first, "mac", NULL);
	*ret = (struct phx_dhcp_host){0};
	if (!mac)
		return false;
	PHX_STR_SET(ret->mac, mac);
	PHX_STR_SET(ret->ip, phx_json_str(node, "ip", ""));
	PHX_STR_SET(ret->name, phx_json_str(node, "name", ""));
	return true;
}

static int read_hosts(struct cli *cli, struct phx_list *ret)
{
	PHX_AUTO_JSON json_t *nodes = NULL;
	struct phx_dhcp_host host;
	size_t i;
	json_t *node;
	int code = cli_nodes_select(cli, NULL, "name,macs,ip", &nodes);
	if (code)
		return code;
	json_array_foreach(nodes, i, node) {
		struct phx_dhcp_host *to =
			host_of(node, &host) ? phx_list_push(ret, sizeof(*to)) : NULL;
		if (to)
			*to = host;
	}
	return CLI_OK;
}

int cmd_site_dhcp(struct cli *cli)
{
	PHX_AUTO(phx_list_fini) struct phx_list hosts = {0};
	PHX_AUTO_FREE char *text = NULL;
	struct phx_err err = {0};
	struct phx_site site;
	int server;
	const struct phx_config *cfg = cli_config(cli);
	if (!cfg)
		return CLI_CONFIG;
	if (phx_enum_parse(&phx_dhcp_server_names, cli_opt(cli, CLI_OPT_for, ""), &server, &err) <
	    0)
		return cli_fail(CLI_USAGE, "--for: %s", err.text);
	int code = load(cfg, &site);
	code = code ? code : read_hosts(cli, &hosts);
	const struct phx_dhcp_site dhcp = dhcp_of(&site);
	if (code == CLI_OK &&
	    phx_dhcp_foreign((enum phx_dhcp_server)server, cfg, &dhcp, hosts.items, hosts.n,
			     &text) < 0)
		code = cli_fail(CLI_PARTIAL, "out of memory");
	code = code ? code : print_text(cli, text);
	phx_record_fini(&phx_site_record, &site);
	return code;
}

/* ---- phx site hosts ---- */

static void put_host(struct phx_buf *b, const struct phx_config *cfg,
		     const struct phx_dhcp_site *site, const json_t *node)
{
	const char *name = phx_json_str(node, "name", ""), *ip = phx_json_str(node, "ip", "");
	const char *address = *ip ? ip : phx_json_str(node, "address", "");
	uint32_t number;
	if (!phx_ipv4_parse(address, &number) || !phx_name_valid(name))
		return;
	const char *domain = phx_dhcp_domain(cfg, site, address);
	phx_buf_addf(b, "%s %s%s%s%s%s\n", address, name, *domain ? "." : "", domain,
		     *domain ? " " : "", *domain ? name : "");
}

int cmd_site_hosts(struct cli *cli)
{
	PHX_AUTO_JSON json_t *nodes = NULL;
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	struct phx_site site;
	size_t i;
	json_t *node;
	const struct phx_config *cfg = cli_config(cli);
	if (!cfg)
		return CLI_CONFIG;
	int code = load(cfg, &site);
	code = code ? code : cli_nodes_select(cli, NULL, "name,ip,address", &nodes);
	const struct phx_dhcp_site dhcp = dhcp_of(&site);
	json_array_foreach(nodes, i, node)
		put_host(&b, cfg, &dhcp, node);
	code = code ? code : print_text(cli, b.data ? b.data : "");
	phx_record_fini(&phx_site_record, &site);
	return code;
}
