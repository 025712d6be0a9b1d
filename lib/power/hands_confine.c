/* What the hands keep when they give up the rest (apart/confine.h). Their programs have no more
 * than that: the IPMI tools and what a site's script needs of the system, bmc_dir, a directory of
 * their own. Called once, by hands_serve.c.
 *
 * Files of bmc_dir are root's, of mode 0600, and may be put there at any time: the hands keep the
 * right to read what root may read (CAP_DAC_READ_SEARCH) where the kernel bounds it to the paths
 * below, and none of their programs gets it. */
#include "power/hands_internal.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apart/confine.h"
#include "base/file.h"

enum {
	READ = PHX_CONFINE_READ | PHX_CONFINE_IF_THERE,
	RUN = READ | PHX_CONFINE_EXEC,
	CHANGE = READ | PHX_CONFINE_WRITE,
	ALL = RUN | PHX_CONFINE_WRITE | PHX_CONFINE_DIRS,
	PATHS_MAX = 80,
};

/* What programs need of a system: themselves, names and addresses, certificates. Nothing that root
 * alone may read is beneath these. */
static const struct phx_confine_path of_system[] = {
	{"/usr", RUN},
	{"/bin", RUN},
	{"/sbin", RUN},
	{"/lib", RUN},
	{"/lib32", RUN},
	{"/lib64", RUN},
	{"/etc/ld.so.cache", READ},
	{"/etc/ld.so.preload", READ},
	{"/etc/nsswitch.conf", READ},
	{"/etc/hosts", READ},
	{"/etc/host.conf", READ},
	{"/etc/gai.conf", READ},
	{"/etc/resolv.conf", READ},
	{"/etc/services", READ},
	{"/etc/protocols", READ},
	{"/etc/passwd", READ},
	{"/etc/group", READ},
	{"/etc/localtime", READ},
	{"/etc/ssl/certs", READ},
	{"/etc/ssl/openssl.cnf", READ},
	{"/etc/freeipmi", READ},
	{"/run/systemd/resolve", READ},
	{"/run/nscd", READ},
	{"/proc", READ},
	{"/dev/null", CHANGE},
	{"/dev/zero", READ},
	{"/dev/full", CHANGE},
	{"/dev/random", READ},
	{"/dev/urandom", READ},
};

static int give(const void *arg, const struct passwd *pw, struct phx_err *err)
{
	const char *own_dir = arg;
	int r = phx_confine_give_dir(own_dir, pw, err);
	return r == -ENOENT ? 0 : r;
}

static size_t add(struct phx_confine_path *paths, size_t n, const char *path, unsigned rights)
{
	if (path[0] && n < PATHS_MAX)
		paths[n++] = (struct phx_confine_path){path, rights};
	return n;
}

int hands_confine(const struct phx_hands_config *config, const char *own_dir, struct phx_err *err)
{
	struct phx_confine_path paths[PATHS_MAX];
	size_t n = PHX_ARRAY_SIZE(of_system);
	memcpy(paths, of_system, sizeof(of_system));
	n = add(paths, n, config->bmc_dir, RUN);
	n = add(paths, n, own_dir, ALL);
	PHX_LIST_EACH(struct phx_word, w, config->paths)
		n = add(paths, n, w->text, ALL);
	/* else it is found where programs are */
	if (config->anchor->n && strchr(PHX_LIST_AT(config->anchor, struct phx_word, 0)->text, '/'))
		n = add(paths, n, PHX_LIST_AT(config->anchor, struct phx_word, 0)->text, RUN);
	const struct phx_confine confine = {.what = "the process that talks to BMCs",
					    .user = config->user,
					    .give = give,
					    .arg = own_dir,
					    .caps = 1ull << CAP_NET_RAW, /* wol: frames */
					    .caps_beneath = 1ull << CAP_DAC_READ_SEARCH,
					    .lock_memory = true,
					    .paths = paths,
					    .n_paths = n,
					    .calls = PHX_CALLS_hands};
	return phx_confine_self(&confine, err);
}
