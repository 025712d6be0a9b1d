/* Daemon configuration: phoenix.conf and conf.d/NAME.conf (libconfig), parsed one by one and merged;
 * later files win key by key. One table (option.def) says what there is. Reads files, keeps nothing. */
#ifndef PHX_CONFIG_CONFIG_H
#define PHX_CONFIG_CONFIG_H

#include "core/state.h"

#define PHX_CONFIG_PATH "/etc/phoenix/phoenix.conf"
#define PHX_CONFIG_TEXT_MAX 256

/** dhcp_mode: "dhcp", "proxy", "none". */
enum phx_dhcp_mode { PHX_DHCP_SERVE, PHX_DHCP_PROXY, PHX_DHCP_NONE };
extern const struct phx_enum phx_dhcp_mode_names;

/** tftp: "in.tftpd", "dnsmasq", "none". */
enum phx_tftp_mode { PHX_TFTP_INTFTPD, PHX_TFTP_DNSMASQ, PHX_TFTP_NONE };
extern const struct phx_enum phx_tftp_mode_names;

/** First and last address, both inclusive; empty strings = none. */
struct phx_ip_range {
	char first[46], last[46];
};

enum phx_option_type {
	PHX_OPTION_PATH,    /* absolute path */
	PHX_OPTION_TEXT,    /* one line of text */
	PHX_OPTION_NAME,    /* phx_name_valid() */
	PHX_OPTION_ADDRESS, /* IPv4 */
	PHX_OPTION_RANGE,   /* "FIRST,LAST" */
	PHX_OPTION_U32,
	PHX_OPTION_BOOL,
	PHX_OPTION_WORDS, /* [ "a", "b" ]; default: words divided by blanks */
	PHX_OPTION_DHCP_MODE,
	PHX_OPTION_TFTP_MODE,
};

#define PHX_OPTION_MEMBER_PATH(key) char key[PHX_CONFIG_TEXT_MAX];
#define PHX_OPTION_MEMBER_TEXT(key) char key[PHX_CONFIG_TEXT_MAX];
#define PHX_OPTION_MEMBER_NAME(key) char key[PHX_NAME_MAX];
#define PHX_OPTION_MEMBER_ADDRESS(key) char key[46];
#define PHX_OPTION_MEMBER_RANGE(key) struct phx_ip_range key;
#define PHX_OPTION_MEMBER_U32(key) uint32_t key;
#define PHX_OPTION_MEMBER_BOOL(key) bool key;
#define PHX_OPTION_MEMBER_WORDS(key) struct phx_list key; /* struct phx_word */
#define PHX_OPTION_MEMBER_DHCP_MODE(key) int key;
#define PHX_OPTION_MEMBER_TFTP_MODE(key) int key;

enum phx_option_id {
#define OPTION(key, ...) PHX_OPT_##key,
#include "config/option.def"
#undef OPTION
	PHX_OPT_COUNT_
};

/** One row of option.def, for the parser and the manual. */
struct phx_option {
	const char *key;
	enum phx_option_type type;
	const char *fallback; /* the default, as text */
	uint32_t min, max;
	const char *unit, *prose;
	size_t offset; /* into struct phx_config */
};
/** The row of an option; `id` below PHX_OPT_COUNT_. */
const struct phx_option *phx_option_info(enum phx_option_id id);

/** Where a value comes from; line 0 = "default". */
struct phx_origin {
	char file[PHX_CONFIG_TEXT_MAX];
	uint32_t line;
};

/** All there is to configure: one member a row of option.def (cfg.http_port, cfg.state_dir ...), pools beside.
 * Zero-initialise; owned lists: phx_config_fini(). */
struct phx_config {
#define OPTION(key, type, ...) PHX_OPTION_MEMBER_##type(key)
#include "config/option.def"
#undef OPTION
	struct phx_list pools;        /* struct phx_pool */
	struct phx_list pool_origins; /* struct phx_origin, one a pool */
	struct phx_origin origins[PHX_OPT_COUNT_];
};

/** Read `path` (normally PHX_CONFIG_PATH) and DIR/conf.d/NAME.conf (DIR = that of `path`; byte order of the names),
 * check each value and how they fit together. Error text begins with "FILE:LINE: " and says what would be right.
 * -ENOENT no such file, -EINVAL, -errno. `ret` (uninitialised or zeroed is fine) is untouched on failure. */
int phx_config_load(const char *path, struct phx_config *ret, struct phx_err *err);

/** What a loaded configuration names and this machine does not have: interface, groups, users, programs, directories. Each
 * becomes a text of `ret` (struct phx_text, owned by the caller), beginning with its place, or with `main_file` where it
 * is a default. 0 or -ENOMEM. */
int phx_config_check_system(const struct phx_config *cfg, const char *main_file, struct phx_list *ret);

/** The defaults alone, {config_dir} being `config_dir`: what a command line uses that has no file. */
int phx_config_defaults(const char *config_dir, struct phx_config *ret, struct phx_err *err);

void phx_config_fini(struct phx_config *cfg);

/** Silence after which a web node gets no new connections; it is taken out the settings' balance_rest_ms later. */
uint32_t phx_config_quiet_ms(const struct phx_config *cfg);

/** May `ip` be reserved for a node: an IPv4 address of a machine, not the head's own or the router's, and of the
 * provisioning network where phxd gives the addresses (elsewhere a site's own DHCP server may know other networks).
 * -EINVAL says what would be right. */
int phx_config_check_ip(const struct phx_config *cfg, const char *ip, struct phx_err *err);

/** What the core wants to know. */
void phx_config_settings(const struct phx_config *cfg, struct phx_settings *ret);

/** One line of `phx config show`; `origin` is "FILE:LINE" or "default". */
#define PHX_CONFIG_LINE_FIELDS(F, S) \
	F(S, key, STR(80)) \
	F(S, value, STR(600)) \
	F(S, origin, STR(PHX_CONFIG_TEXT_MAX + 12))
PHX_RECORD_STRUCT(phx_config_line, PHX_CONFIG_LINE_FIELDS);

/** All keys in table order, then "pools.NAME" a pool. ret: struct phx_config_line, owned by the caller. */
int phx_config_show(const struct phx_config *cfg, struct phx_list *ret_lines);

#endif
