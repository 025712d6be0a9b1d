/* One package on this node: its archive in the cache, its unpacked files below pkg_root. Called by
 * steps and by the prefetch, one at a time (prefetch_pause()). */
#ifndef PHX_AGENT_PACKAGE_H
#define PHX_AGENT_PACKAGE_H

#include "http/http.h"
#include "types/role.h"
#include "agent/config.h"
#include "agent/fetch.h"

/** Makes or lends a client; called only when a file has to be fetched. */
typedef int (*package_client_fn)(void *arg, struct phx_http_client **ret, struct phx_err *err);

struct package_from {
	package_client_fn client;
	void *arg;
	struct fetch_stop stop; /* fetching ends with -ECANCELED when this asks for it */
};

/** Is the package unpacked, from the archive that the role names (which was verified then)? Reads
 * two small files. */
bool package_unpacked(const struct agent_config *cfg, const struct phx_package_ref *p);

/** Make sure that the cache has the archive, signed and as the role names it; fetches it if it
 * must. An archive that does not pass is removed. */
int package_need(const struct agent_config *cfg, const struct phx_package_ref *p,
		 const struct package_from *from, struct phx_err *err);

/** Make sure that the package is unpacked, after package_need() if it must be. */
int package_unpack(const struct agent_config *cfg, const struct phx_package_ref *p,
		   const struct package_from *from, struct phx_err *err);

/** Remove the archive and its signature; missing files are no error. */
void package_drop(const struct agent_config *cfg, const struct phx_package_ref *p);

/** Would `bytes` leave the file system of `path` with less than a tenth of it free? -ENOSPC with
 * the figures. */
int package_room(const char *path, uint64_t bytes, struct phx_err *err);

#endif
