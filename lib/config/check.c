/* How the values of phoenix.conf fit together: see option.h. Called once, after
 * all files are merged; a table of checks, each about one option. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/option.h"

static uint32_t ip(const char *text)
{
	struct in_addr a = {0};
	inet_pton(AF_INET, text, &a);
	return ntohl(a.s_addr);
}

static bool same_network(const struct phx_config *cfg, const char *a, const char *b)
{
	uint32_t mask = ~0U << (32 - cfg->prefix);
	return (ip(a) & mask) == (ip(b) & mask);
}

static bool only(const char *text, const char *extra)
{
	for (; *text; text++)
		if (!((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
		      (*text >= '0' && *text <= '9') || strchr(extra, *text)))
			return false;
	return true;
}

/* Neither this network, nor of a group, nor the network's own first and last. */
static bool is_of_a_machine(const struct phx_config *cfg, const char *address)
{
	uint32_t host = ip(address) & ~(~0U << (32 - cfg->prefix)),
		 all = ~(~0U << (32 - cfg->prefix));
	uint32_t first = ip(address) >> 24;
	return first != 0 && first < 224 &&
		(!same_network(cfg, address, cfg->address) || (host != 0 && host != all));
}

const char *phx_config_listen(const struct phx_config *cfg)
{
	return cfg->listen[0] ? cfg->listen : cfg->address;
}

static const char *check_listen(const struct phx_config *cfg)
{
	const char *at = cfg->listen;
	return !at[0] || !strcmp(at, "0.0.0.0") || !strcmp(at, cfg->address)
		? NULL
		: "must be empty (at `address`) or \"0.0.0.0\" (everywhere)";
}

int phx_config_check_ip(const struct phx_config *cfg, const char *address, struct phx_err *err)
{
	struct in_addr a;
	bool loopback = cfg->address[0] && ip(cfg->address) >> 24 == 127;
	if (inet_pton(AF_INET, address, &a) != 1)
		return phx_err_set(err, -EINVAL, "ip: '%s' is no IPv4 address", address);
	if (!strcmp(address, cfg->address))
		return phx_err_set(err, -EINVAL, "ip: %s is the head's own address", address);
	if (cfg->gateway[0] && !strcmp(address, cfg->gateway))
		return phx_err_set(err, -EINVAL, "ip: %s is the router's (gateway)", address);
	if (!is_of_a_machine(cfg, address) || (ip(address) >> 24 == 127 && !loopback))
		return phx_err_set(err, -EINVAL, "ip: %s is no address that a machine can have",
				   address);
	if (cfg->dhcp_mode == PHX_DHCP_SERVE && !same_network(cfg, address, cfg->address))
		return phx_err_set(err, -EINVAL,
				   "ip: %s is outside of the provisioning network, %s/%u: nodes "
				   "get addresses of that",
				   address, cfg->address, cfg->prefix);
	return 0;
}

/* Each returns what is wrong, or NULL. */
static const char *check_address(const struct phx_config *cfg)
{
	return cfg->address[0]
		? NULL
		: "is missing; write the head's own address: address = \"192.168.1.1\";";
}

static const char *check_interface(const struct phx_config *cfg)
{
	if (!only(cfg->interface, "-_.:@"))
		return "must be the name of a network interface, like \"eth1\"";
	if (!cfg->interface[0] && cfg->dhcp_mode != PHX_DHCP_NONE)
		return "is missing; name the interface of the provisioning network (interface = "
		       "\"eth1\";) or set "
		       "dhcp_mode = \"none\"";
	return NULL;
}

static const char *check_range(const struct phx_config *cfg)
{
	const struct phx_ip_range *r = &cfg->dhcp_range;
	if (!r->first[0])
		return NULL;
	if (!same_network(cfg, r->first, cfg->address) || !same_network(cfg, r->last, cfg->address))
		return "must lie in the network of address and prefix";
	if (ip(r->first) > ip(r->last))
		return "must begin with the lower address";
	if (ip(r->first) <= ip(cfg->address) && ip(cfg->address) <= ip(r->last))
		return "must not hold the head's own address";
	return NULL;
}

static const char *check_gateway(const struct phx_config *cfg)
{
	return cfg->gateway[0] && !same_network(cfg, cfg->gateway, cfg->address)
		? "must lie in the network of address and prefix"
		: NULL;
}

static const char *check_domain(const struct phx_config *cfg)
{
	return only(cfg->domain, "-.") ? NULL : "must be a domain name: letters, digits, '-', '.'";
}

static const char *check_ports(const struct phx_config *cfg)
{
	return cfg->http_port == cfg->https_port ? "must differ from http_port" : NULL;
}

static const char *check_missing(const struct phx_config *cfg)
{
	return cfg->missing_after_ms < 2 * cfg->heartbeat_ms ? "must be at least twice heartbeat_ms"
							     : NULL;
}

static const char *check_restart_silent(const struct phx_config *cfg)
{
	bool soon = (uint64_t)cfg->restart_silent_s * 1000 <= cfg->missing_after_ms ||
		cfg->restart_silent_s <= cfg->job_heartbeat_timeout_s;
	return cfg->restart_silent_s && soon
		? "must be 0, or longer than job_lease_s and missing_after_ms"
		: NULL;
}

static const char *check_group(const struct phx_config *cfg)
{
	return only(cfg->socket_group, "-_.") ? NULL : "must be the name of a group";
}

static const char *check_service_group(const struct phx_config *cfg)
{
	return only(cfg->service_group, "-_.") ? NULL : "must be the name of a group";
}

static const char *check_dnsmasq_user(const struct phx_config *cfg)
{
	return only(cfg->dnsmasq_user, "-_.") ? NULL : "must be the name of a user";
}

static const char *check_engine_user(const struct phx_config *cfg)
{
	if (!strcmp(cfg->engine_user, "root"))
		return "must not be root: Slurm's commands load what a slurm.conf names";
	return only(cfg->engine_user, "-_.") ? NULL : "must be the name of a user";
}

static const char *check_event_user(const struct phx_config *cfg)
{
	if (!strcmp(cfg->event_user, "root"))
		return "must not be root: programs that are told events run as a user";
	return only(cfg->event_user, "-_.") ? NULL : "must be the name of a user";
}

static const char *check_tftp_user(const struct phx_config *cfg)
{
	if (!strcmp(cfg->tftp_user, "root"))
		return "must not be root: who answers the network is a user";
	return only(cfg->tftp_user, "-_.") ? NULL : "must be the name of a user";
}

static const char *check_tftp(const struct phx_config *cfg)
{
	return cfg->tftp == PHX_TFTP_DNSMASQ && cfg->dhcp_mode == PHX_DHCP_NONE
		? "= \"dnsmasq\" needs dnsmasq, which does not run with dhcp_mode = \"none\""
		: NULL;
}

static const struct check {
	enum phx_option_id id;
	const char *(*wrong)(const struct phx_config *cfg);
	/* what it must fit to: told with its line where the option itself has its default */
	enum phx_option_id beside;
} checks[] = {
	{PHX_OPT_address, check_address, PHX_OPT_address},
	{PHX_OPT_interface, check_interface, PHX_OPT_dhcp_mode},
	{PHX_OPT_dhcp_range, check_range, PHX_OPT_address},
	{PHX_OPT_gateway, check_gateway, PHX_OPT_address},
	{PHX_OPT_domain, check_domain, PHX_OPT_domain},
	{PHX_OPT_https_port, check_ports, PHX_OPT_http_port},
	{PHX_OPT_missing_after_ms, check_missing, PHX_OPT_heartbeat_ms},
	{PHX_OPT_restart_silent_s, check_restart_silent, PHX_OPT_job_heartbeat_timeout_s},
	{PHX_OPT_socket_group, check_group, PHX_OPT_socket_group},
	{PHX_OPT_service_group, check_service_group, PHX_OPT_service_group},
	{PHX_OPT_dnsmasq_user, check_dnsmasq_user, PHX_OPT_dnsmasq_user},
	{PHX_OPT_tftp_user, check_tftp_user, PHX_OPT_tftp_user},
	{PHX_OPT_engine_user, check_engine_user, PHX_OPT_engine_user},
	{PHX_OPT_event_user, check_event_user, PHX_OPT_event_user},
	{PHX_OPT_tftp, check_tftp, PHX_OPT_dhcp_mode},
	{PHX_OPT_listen, check_listen, PHX_OPT_address},
};

int phx_config_selectors(const struct phx_config *cfg, char ret[PHX_SELECTORS_TEXT_MAX])
{
	size_t n = 0;
	ret[0] = '\0';
	PHX_LIST_EACH(struct phx_word, w, &cfg->protected_disks) {
		size_t more = strlen(w->text) + (n > 0);
		if (n + more >= PHX_SELECTORS_TEXT_MAX)
			return -E2BIG;
		snprintf(ret + n, PHX_SELECTORS_TEXT_MAX - n, "%s%s", n ? "\n" : "", w->text);
		n += more;
	}
	return 0;
}

static int check_protected(const struct phx_config *cfg, struct phx_err *err)
{
	char all[PHX_SELECTORS_TEXT_MAX];
	const struct phx_origin *o = &cfg->origins[PHX_OPT_protected_disks];
	int r = phx_config_selectors(cfg, all);
	if (r < 0)
		return phx_err_set(
			err, -EINVAL,
			"%s:%u: protected_disks must have less than %d characters in all", o->file,
			o->line, PHX_SELECTORS_TEXT_MAX);
	PHX_LIST_EACH(struct phx_word, w, &cfg->protected_disks) {
		r = phx_disk_selector_check(w->text, err);
		if (r < 0)
			return phx_err_prefix(err, r, "%s:%u: protected_disks: \"%s\"", o->file,
					      o->line, w->text);
	}
	return 0;
}

int phx_config_check(const struct phx_config *cfg, const char *main_file, struct phx_err *err)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(checks); i++) {
		const char *wrong = checks[i].wrong(cfg);
		const struct phx_origin *own = &cfg->origins[checks[i].id];
		const struct phx_origin *o = own->line ? own : &cfg->origins[checks[i].beside];
		if (!wrong)
			continue;
		phx_err_set(err, -EINVAL, "%s %s", phx_option(checks[i].id)->key->name, wrong);
		return o->line ? phx_err_prefix(err, -EINVAL, "%s:%u", o->file, o->line)
			       : phx_err_prefix(err, -EINVAL, "%s", main_file);
	}
	return check_protected(cfg, err);
}
