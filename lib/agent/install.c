/* See install.h. Called by the steps image and enter and by the local boot.
 * Touches no other file in the root. */
#include "agent/install.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "agent/copy.h"

#define BUNDLE "/opt/phoenix/agent"
#define UNIT "/etc/systemd/system/phx-agent.service"
#define WANTS "/etc/systemd/system/multi-user.target.wants"

/* The agent's own directory, which holds bin/phx-agent, lib/ and share/. */
static int find_bundle(char ret[PATH_MAX], struct phx_err *err)
{
	ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - 1);
	if (n < 0)
		return phx_err_set(err, -errno, "/proc/self/exe: %s", strerror(errno));
	ret[n] = '\0';
	char *bin = strstr(ret, "/bin/phx-agent");
	if (!bin || !phx_str_eq(bin, "/bin/phx-agent"))
		return phx_err_set(err, -ENOENT, "%s: not in a bundle (DIR/bin/phx-agent)", ret);
	*bin = '\0';
	PHX_AUTO_FREE char *unit = phx_path("%s/share/phx-agent.service", ret);
	if (!unit || access(unit, R_OK) < 0)
		return phx_err_set(err, -ENOENT,
				   "%s/share/phx-agent.service: missing in the bundle", ret);
	return 0;
}

static int make_dirs(const char *root, struct phx_err *err)
{
	static const char *const dirs[] = {"/opt/phoenix/pkg", "/etc/phoenix", "/var/lib/phoenix",
					   WANTS};
	int r = 0;
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(dirs); i++) {
		PHX_AUTO_FREE char *dir = phx_path("%s%s", root, dirs[i]);
		r = dir ? phx_dir_make(dir, 0755, err) : -ENOMEM;
	}
	return r;
}

static int write_text(const char *root, const char *path, const char *text, struct phx_err *err)
{
	PHX_AUTO_FREE char *to = phx_path("%s%s", root, path);
	return to ? phx_file_write(to, text, strlen(text), 0644, err) : -ENOMEM;
}

static int write_config(struct agent *a, const char *root, struct phx_err *err)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	phx_buf_addf(&b, "# written by the agent in the deploy initramfs\nserver = \"%s\";\n",
		     a->cfg.server);
	if (a->cfg.http[0])
		phx_buf_addf(&b, "http = \"%s\";\n", a->cfg.http);
	if (a->cfg.beacon[0])
		phx_buf_addf(&b, "beacon = \"%s\";\n", a->cfg.beacon);
	return b.failed ? -ENOMEM : write_text(root, "/etc/phoenix/agent.conf", b.data, err);
}

static int write_name(struct agent *a, const char *root, struct phx_err *err)
{
	char name[PHX_NAME_MAX], line[PHX_NAME_MAX + 1], hosts[PHX_NAME_MAX + 128];
	agent_node_name(a, name);
	if (!phx_name_valid(name))
		return phx_err_set(err, -EINVAL, "the head has not told this node's name");
	snprintf(line, sizeof(line), "%s\n", name);
	snprintf(hosts, sizeof(hosts),
		 "127.0.0.1 localhost\n127.0.1.1 %s\n::1 localhost ip6-localhost\n", name);
	int r = write_text(root, "/etc/hostname", line, err);
	return r ? r : write_text(root, "/etc/hosts", hosts, err);
}

static int copy_into(const char *from, const char *root, const char *path, struct phx_err *err)
{
	PHX_AUTO_FREE char *to = phx_path("%s%s", root, path);
	return to ? copy_file(from, to, err) : -ENOMEM;
}

/* If this system demands signed images, the next one does too. */
static int copy_demand(struct agent *a, const char *root, struct phx_err *err)
{
	return access(a->cfg.images_signed, F_OK) == 0
		? copy_into(a->cfg.images_signed, root, "/etc/phoenix/images.signed", err)
		: 0;
}

static int enable_unit(const char *bundle, const char *root, struct phx_err *err)
{
	PHX_AUTO_FREE char *from = phx_path("%s/share/phx-agent.service", bundle);
	PHX_AUTO_FREE char *link = phx_path("%s" WANTS "/phx-agent.service", root);
	int r = from && link ? copy_into(from, root, UNIT, err) : -ENOMEM;
	if (r == 0 && symlink("../phx-agent.service", link) < 0 && errno != EEXIST)
		r = phx_err_set(err, -errno, "%s: %s", link, strerror(errno));
	return r;
}

/* Two bundles with one id are the same. */
static bool same_bundle(const char *a, const char *b)
{
	PHX_AUTO_FREE char *path_a = phx_path("%s/share/bundle.id", a);
	PHX_AUTO_FREE char *path_b = phx_path("%s/share/bundle.id", b);
	PHX_AUTO_FREE char *id_a = NULL;
	PHX_AUTO_FREE char *id_b = NULL;
	return path_a && path_b && phx_file_read(path_a, 256, &id_a, NULL, NULL) == 0 &&
		phx_file_read(path_b, 256, &id_b, NULL, NULL) == 0 && phx_str_eq(id_a, id_b);
}

int install_agent(struct agent *a, const char *root, struct phx_err *err)
{
	char bundle[PATH_MAX];
	PHX_AUTO_FREE char *to = phx_path("%s" BUNDLE, root);
	int r = to ? find_bundle(bundle, err) : -ENOMEM;
	if (r == 0)
		r = make_dirs(root, err);
	if (r == 0 && !same_bundle(bundle, to))
		r = copy_tree(bundle, to, err);
	if (r == 0)
		r = enable_unit(bundle, root, err);
	if (r == 0)
		r = copy_into(a->cfg.ca, root, "/etc/phoenix/ca.pem", err);
	if (r == 0)
		r = copy_into(a->cfg.site_pub, root, "/etc/phoenix/site.pub", err);
	if (r == 0)
		r = copy_into(agent_config_ring(&a->cfg), root, "/etc/phoenix/packages.pub", err);
	if (r == 0)
		r = copy_demand(a, root, err);
	if (r == 0)
		r = write_config(a, root, err);
	return r ? r : write_name(a, root, err);
}

int install_state(struct agent *a, const char *state_dir, struct phx_err *err)
{
	static const char *const files[] = {"agent.key", "agent.pem"};
	int r = phx_dir_make(state_dir, 0700, err);
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(files); i++) {
		PHX_AUTO_FREE char *from = phx_path("%s/%s", a->cfg.state_dir, files[i]);
		PHX_AUTO_FREE char *to = phx_path("%s/%s", state_dir, files[i]);
		r = from && to ? copy_file(from, to, err) : -ENOMEM;
	}
	return r ? r : step_log_copy(&a->step_log, state_dir, err);
}
