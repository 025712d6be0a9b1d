/* Has this machine what a configuration names: the interface, groups, users, programs and
 * directories? Called by `phx config check`, by phxd --check, and by phxd at its start, after all
 * files are merged and fit together (check.c). A table of checks, each about one option; what is
 * not used under the other options is not asked for. */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/account.h"
#include "config/option.h"

enum kind { INTERFACE, GROUP, USER, OWN_USER, PROGRAM, DIRECTORY };

static bool always(const struct phx_config *cfg)
{
	(void)cfg;
	return true;
}

static bool runs_dnsmasq(const struct phx_config *cfg)
{
	return cfg->dhcp_mode != PHX_DHCP_NONE || cfg->tftp == PHX_TFTP_DNSMASQ;
}

static bool runs_tftpd(const struct phx_config *cfg)
{
	return cfg->tftp == PHX_TFTP_INTFTPD;
}

static bool serves_tftp(const struct phx_config *cfg)
{
	return cfg->tftp != PHX_TFTP_NONE;
}

/* It is needed by Slurm's REs alone: where nobody wrote it down it may be missing. */
static bool names_engine_user(const struct phx_config *cfg)
{
	return cfg->origins[PHX_OPT_engine_user].line > 0;
}

/* phxd becomes other users where root starts it. */
static bool becomes_users(const struct phx_config *cfg)
{
	(void)cfg;
	return geteuid() == 0;
}

static const struct row {
	enum phx_option_id id;
	enum kind kind;
	bool (*used)(const struct phx_config *cfg);
} rows[] = {
	{PHX_OPT_interface, INTERFACE, always},
	{PHX_OPT_socket_group, GROUP, always},
	{PHX_OPT_service_group, GROUP, always},
	{PHX_OPT_dnsmasq, PROGRAM, runs_dnsmasq},
	{PHX_OPT_dnsmasq_user, USER, runs_dnsmasq},
	{PHX_OPT_in_tftpd, PROGRAM, runs_tftpd},
	{PHX_OPT_tftp_user, USER, runs_tftpd},
	{PHX_OPT_ipxe_dir, DIRECTORY, serves_tftp},
	{PHX_OPT_pxe_dir, DIRECTORY, always},
	{PHX_OPT_engine_user, USER, names_engine_user},
	{PHX_OPT_head_user, OWN_USER, becomes_users},
	{PHX_OPT_vault_user, OWN_USER, becomes_users},
	{PHX_OPT_hands_user, OWN_USER, becomes_users},
};

static bool has_group(const char *name)
{
	gid_t gid;
	return phx_group_named(name, &gid) == 0;
}

static bool has_user(const char *name)
{
	PHX_AUTO_FREE char *texts = NULL;
	struct passwd pw;
	return phx_user_named(name, &pw, &texts) == 0;
}

static bool is_directory(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_program(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111);
}

/* NULL: it is there. */
static const char *missing(enum kind kind, const char *name)
{
	switch (kind) {
	case INTERFACE:
		return if_nametoindex(name)
			? NULL
			: "this machine has no network interface of that name (ip link shows them)";
	case GROUP:
		return has_group(name) ? NULL : "there is no such group";
	case USER:
		return has_user(name) ? NULL : "there is no such user";
	case OWN_USER:
		return has_user(name)
			? NULL
			: "there is no such user: systemd-sysusers makes it, or "
			  "useradd --system --user-group; with \"\" the process is root";
	case PROGRAM:
		return is_program(name) ? NULL : "there is no such program";
	case DIRECTORY:
		return is_directory(name) ? NULL : "there is no such directory";
	}
	return NULL;
}

int phx_config_check_system(const struct phx_config *cfg, const char *main_file,
			    struct phx_list *ret)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(rows); i++) {
		const struct phx_field *option = phx_option(rows[i].id);
		const struct phx_origin *o = &cfg->origins[rows[i].id];
		const char *name = (const char *)cfg + option->offset;
		const char *why = name[0] && rows[i].used(cfg) ? missing(rows[i].kind, name) : NULL;
		struct phx_err err = {0};
		if (!why)
			continue;
		phx_err_set(&err, -ENOENT, "%s = \"%s\": %s", option->key->name, name, why);
		if (o->line)
			phx_err_prefix(&err, -ENOENT, "%s:%u", o->file, o->line);
		else
			phx_err_prefix(&err, -ENOENT, "%s", main_file);
		r = phx_text_push(ret, err.text);
	}
	return r;
}
