/* One package on this node: its archive in the cache, what is unpacked of it below pkg_root. Called
 * by steps and by the stock, one at a time (stock_begin()). */
#ifndef PHX_AGENT_PACKAGE_H
#define PHX_AGENT_PACKAGE_H

#include "http/http.h"
#include "types/role.h"
#include "agent/config.h"
#include "agent/fetch.h"

/** Makes or lends a client for what has to be fetched; it is asked only then. */
typedef int (*package_client_fn)(void *arg, struct phx_http_client **ret, struct phx_err *err);

struct package_from {
	package_client_fn client;
	void *arg;
	struct fetch_stop stop; /* fetching ends with -ECANCELED when this says so */
};

/** Is it unpacked, from the bytes that the role means (which were verified then)? Reads two small
 * files. */
bool package_unpacked(const struct agent_config *cfg, const struct phx_package_ref *p);

/** The archive is in the cache, signed and what the role means; fetched if it must be. What does
 * not pass does not stay. */
int package_need(const struct agent_config *cfg, const struct phx_package_ref *p,
		 const struct package_from *from, struct phx_err *err);

/** Unpacked, if need be after package_need(). */
int package_unpack(const struct agent_config *cfg, const struct phx_package_ref *p,
		   const struct package_from *from, struct phx_err *err);

/** Remove the archive; nothing there is no error. */
void package_drop(const struct agent_config *cfg, const struct phx_package_ref *p);

/** Would `bytes` leave the file system of `path` with less than a tenth of it free? -ENOSPC with
 * the figures. */
int package_room(const char *path, uint64_t bytes, struct phx_err *err);

#endif
