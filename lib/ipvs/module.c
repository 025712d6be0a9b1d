/* The kernel module of the balancer; its schedulers are loaded by the kernel
 * itself when a service names them. See ipvs.h. */
#include <errno.h>
#include <libkmod.h>
#include <string.h>

#include "ipvs/ipvs.h"

int phx_ipvs_load(struct phx_err *err)
{
	struct kmod_ctx *ctx = kmod_new(NULL, NULL);
	struct kmod_list *found = NULL, *it;
	if (!ctx)
		return -ENOMEM;
	int r = kmod_module_new_from_lookup(ctx, "ip_vs", &found);
	if (r == 0 && !found)
		r = -ENOENT;
	kmod_list_foreach(it, found) {
		struct kmod_module *mod = kmod_module_get_module(it);
		if (r == 0)
			r = kmod_module_probe_insert_module(mod, KMOD_PROBE_APPLY_BLACKLIST, NULL,
							    NULL, NULL, NULL);
		kmod_module_unref(mod);
	}
	kmod_module_unref_list(found);
	kmod_unref(ctx);
	return r < 0 ? phx_err_set(err, r, "kernel module ip_vs: %s", strerror(-r)) : 0;
}
