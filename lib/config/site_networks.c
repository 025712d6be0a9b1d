/* networks.conf of the settings of the site: see site.h. Called by site.c. */
#include <errno.h>

#include "config/site_internal.h"

#define NETWORKS_FIELDS(F, S) F(S, networks, LIST(phx_site_network), KEY(networks, OTHER, "", ""))
struct networks_keys {
	PHX_MEMBERS(networks_keys, NETWORKS_FIELDS)
};
PHX_RECORD_LOCAL(networks_keys, networks_keys, NETWORKS_FIELDS);

static int read_network(struct site_reader *rd, const struct phx_conf *c, const config_setting_t *s,
			struct phx_err *err)
{
	struct phx_site_network n = {0}, *to = NULL;
	int r = phx_conf_group(c, s, &phx_site_network_record, &n, err);
	site_place(c, s, n.place);
	if (r == 0 && !(to = phx_list_push(&rd->site.networks, sizeof(*to))))
		r = phx_err_set(err, -ENOMEM, "out of memory");
	if (to)
		*to = n;
	else
		phx_record_fini(&phx_site_network_record, &n);
	return r;
}

void site_networks_read(struct site_reader *rd, const char *dir)
{
	PHX_AUTO(phx_conf_fini) struct phx_conf c = {0};
	if (site_conf_read(rd, dir, "networks.conf", &networks_keys_record, &c))
		site_each(rd, &c, "networks", read_network);
}
