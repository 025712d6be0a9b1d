/* Roles (roles/NAME.conf) and rules (roles/rules.conf) from libconfig text into the typed structs
 * of types/role.h. What they name is looked up through functions of the caller; nothing is kept. */
#ifndef PHX_CONFIG_ROLE_H
#define PHX_CONFIG_ROLE_H

#include "types/role.h"

/** How names become things. Each returns 0 or -ENOENT (then the file is refused, with line and
 * reason); any other negative code is passed on with the text in err. A NULL function skips that
 * check (`phx role check` without a head).
 */
struct phx_role_lookup {
	void *arg;
	/** `version` NULL = newest. ret_kernel: release of its own default kernel, or "". */
	int (*image)(void *arg, const char *name, const char *version,
		     char ret_version[PHX_NAME_MAX], char ret_digest[65],
		     char ret_kernel[PHX_RELEASE_MAX], struct phx_err *err);
	/** Fill ret (name, version, sha256, size_bytes). `version` NULL = newest. A text like
	 * "web-nginx-1.0" is asked for as name "web-nginx-1.0" first, then split at each '-' from
	 * the right. */
	int (*package)(void *arg, const char *name, const char *version,
		       struct phx_package_ref *ret, struct phx_err *err);
	int (*pool)(void *arg, const char *name, struct phx_err *err);
	/** Has that image a kernel of its own of that release? */
	int (*kernel)(void *arg, const char *image, const char *version, const char *release,
		      struct phx_err *err);
};

/** Read one role; its name is the file's without ".conf". -EINVAL, -ENOENT (file, or something it
 * names), text "FILE:LINE: ...". ret untouched on failure, else owned:
 * phx_record_fini(&phx_role_record, ret). */
int phx_role_load(const char *path, const struct phx_role_lookup *lookup, struct phx_role *ret,
		  struct phx_err *err);

/** A file that was refused, and why. */
struct phx_role_bad {
	char file[256];
	char reason[PHX_ERR_TEXT_MAX];
};

/** Every NAME.conf of `dir` except rules.conf, sorted by name. A bad file does not hide the others:
 * it is named in ret_bad (struct phx_role_bad; may be NULL: then the first bad file fails the
 * call). ret_roles: struct phx_role. */
int phx_roles_load(const char *dir, const struct phx_role_lookup *lookup,
		   struct phx_list *ret_roles, struct phx_list *ret_bad, struct phx_err *err);
/** Free a list of struct phx_role with what they own. */
void phx_roles_fini(struct phx_list *roles);

/** Read rules: `rules = ( { role = "web-server"; when = [ "memory_bytes >= 4 GiB", "name ~ web*" ];
 * }, ... );`. `roles` (list of struct phx_role, NULL: not checked) must know every role named. A
 * missing file is an empty list. ret: struct phx_rule, owned: phx_rules_fini(). */
int phx_rules_load(const char *path, const struct phx_list *roles, struct phx_list *ret_rules,
		   struct phx_err *err);
/** Free a list of struct phx_rule with what they own. */
void phx_rules_fini(struct phx_list *rules);

#endif
