/* Packages of roles: see package.h. Called by steps (worker) and by the prefetch
 * (prefetch.c). An archive is hashed once on its way in and once when it is unpacked;
 * an unpacked package carries the digest of its archive and is not hashed again. */
#include "agent/package.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"
#include "repo/repo.h"

enum { SIG_MAX = 4096 };
#define PACKAGE_MAX (2ull << 30)

static char *archive_path(const struct agent_config *cfg, const struct phx_package_ref *p)
{
	return phx_path("%s/packages/" PHX_PACKAGE_ARCHIVE, cfg->cache_dir, p->name, p->version);
}

static int check_ref(const struct phx_package_ref *p, struct phx_err *err)
{
	if (!phx_name_valid(p->name) || !phx_name_valid(p->version))
		return phx_err_set(err, -EINVAL, "package \"%s-%s\": not a valid name", p->name,
				   p->version);
	return 0;
}

bool package_unpacked(const struct agent_config *cfg, const struct phx_package_ref *p)
{
	char sha256[65];
	return p->sha256[0] && check_ref(p, NULL) == 0 &&
		phx_package_unpacked(cfg->pkg_root, p->name, p->version, sha256) == 0 &&
		phx_str_eq(sha256, p->sha256);
}

/* ---- the archive ---- */

static int check_meant(const struct phx_package_ref *p, const struct phx_package *found,
		       const char *path, struct phx_err *err)
{
	if (phx_str_eq(found->name, p->name) && phx_str_eq(found->version, p->version) &&
	    (!p->sha256[0] || phx_str_eq(found->sha256, p->sha256)))
		return 0;
	return phx_err_set(err, -EBADMSG, "%s: holds %s-%s, SHA-256 %s", path, found->name,
			   found->version, found->sha256);
}

/* Is the archive signed, and is it the package that the role names? */
static int verify(const struct agent_config *cfg, const struct phx_package_ref *p, const char *path,
		  struct phx_err *err)
{
	struct phx_package found;
	int r = phx_package_verify(path, agent_config_ring(cfg), &found, err);
	return r < 0 ? r : check_meant(p, &found, path, err);
}

static int fetch(const struct phx_package_ref *p, const char *path, const struct package_from *from,
		 struct phx_err *err)
{
	struct phx_http_client *http;
	PHX_AUTO_FREE char *url = phx_path("/packages/" PHX_PACKAGE_ARCHIVE, p->name, p->version);
	PHX_AUTO_FREE char *sig_url =
		phx_path("/packages/" PHX_PACKAGE_ARCHIVE ".sig", p->name, p->version);
	PHX_AUTO_FREE char *sig = phx_path("%s.sig", path);
	if (!url || !sig_url || !sig)
		return -ENOMEM;
	int r = from->client(from->arg, &http, err);
	if (r == 0)
		r = fetch_file(http, url, path, p->size_bytes, PACKAGE_MAX, p->sha256, &from->stop,
			       err);
	return r ? r : fetch_file(http, sig_url, sig, 0, SIG_MAX, "", &from->stop, err);
}

void package_drop(const struct agent_config *cfg, const struct phx_package_ref *p)
{
	PHX_AUTO_FREE char *path = check_ref(p, NULL) == 0 ? archive_path(cfg, p) : NULL;
	PHX_AUTO_FREE char *sig = path ? phx_path("%s.sig", path) : NULL;
	if (path)
		unlink(path);
	if (sig)
		unlink(sig);
}

static int make_cache(const struct agent_config *cfg, struct phx_err *err)
{
	PHX_AUTO_FREE char *dir = phx_path("%s/packages", cfg->cache_dir);
	return dir ? phx_dir_make(dir, 0700, err) : -ENOMEM;
}

int package_need(const struct agent_config *cfg, const struct phx_package_ref *p,
		 const struct package_from *from, struct phx_err *err)
{
	int r = check_ref(p, err);
	PHX_AUTO_FREE char *path = r == 0 ? archive_path(cfg, p) : NULL;
	if (r < 0 || !path)
		return r < 0 ? r : -ENOMEM;
	if (access(path, R_OK) == 0 && verify(cfg, p, path, NULL) == 0)
		return 0;
	r = make_cache(cfg, err);
	r = r ? r : fetch(p, path, from, err);
	r = r ? r : verify(cfg, p, path, err);
	if (r < 0)
		package_drop(cfg, p);
	return r;
}

/* ---- unpacked ---- */

static int unpack(const struct agent_config *cfg, const struct phx_package_ref *p,
		  struct phx_err *err)
{
	PHX_AUTO_FREE char *path = archive_path(cfg, p);
	struct phx_package found;
	int r = path
		? phx_package_unpack(path, agent_config_ring(cfg), cfg->pkg_root, NULL, &found, err)
		: -ENOMEM;
	return r < 0 ? r : check_meant(p, &found, path, err);
}

int package_unpack(const struct agent_config *cfg, const struct phx_package_ref *p,
		   const struct package_from *from, struct phx_err *err)
{
	if (package_unpacked(cfg, p))
		return 0;
	int r = package_need(cfg, p, from, err);
	r = r ? r : phx_dir_make(cfg->pkg_root, 0755, err);
	return r ? r : unpack(cfg, p, err);
}

int package_room(const char *path, uint64_t bytes, struct phx_err *err)
{
	struct statvfs st;
	if (statvfs(path, &st) < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	uint64_t all = (uint64_t)st.f_blocks * st.f_frsize,
		 free_bytes = (uint64_t)st.f_bavail * st.f_frsize;
	if (free_bytes >= bytes && free_bytes - bytes >= all / 10)
		return 0;
	return phx_err_set(err, -ENOSPC,
			   "%s: %" PRIu64 " MiB more would leave less than a tenth of it free",
			   path, bytes >> 20);
}
