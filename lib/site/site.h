/* The settings of a site: who logs in on which nodes, time servers, files. From them and from the
 * facts of a node follows what the node is to have: its accounts and its files, as one bundle with
 * an id. Settings come from files that people write (config/site.h) and are kept by phxd; bundles
 * are fetched by agents. Pure.
 *
 *	settings ──phx_site_check()──▶ what is wrong, all of it
 *	    └──── + node ──phx_site_render()──▶ bundle */
#ifndef PHX_SITE_SITE_H
#define PHX_SITE_SITE_H

#include "site/network.h"
#include "site/setting.h"
#include "types/account.h"

#define PHX_SITE_FILES_MAX 1000
#define PHX_SITE_FILE_MAX (64u << 10) /* bytes of one file */
#define PHX_SITE_MODE_DEFAULT "0644"

/* ---- settings ---- */

#define PHX_SITE_GROUP_FIELDS(F, S) \
	F(S, name, STR(PHX_ACCOUNT_NAME_MAX), \
	  KEY(name, TEXT(1, 32), PHX_REQUIRED, "Name of the group.")) \
	F(S, gid, U32, \
	  KEY(gid, NUMBER(1, 4294967294), PHX_REQUIRED, \
	      "Its number: 1000 to 60000, or 65536 and above.")) \
	F(S, place, STR(PHX_SITE_PLACE_MAX)) /* where it is written, for complaints */
PHX_RECORD_STRUCT(phx_site_group, PHX_SITE_GROUP_FIELDS);

#define PHX_SITE_USER_FIELDS(F, S) \
	F(S, name, STR(PHX_ACCOUNT_NAME_MAX), \
	  KEY(name, TEXT(1, 32), PHX_REQUIRED, \
	      "Name of the account; begins with a small letter or _.")) \
	F(S, uid, U32, \
	  KEY(uid, NUMBER(1, 4294967294), PHX_REQUIRED, \
	      "Its number: 1000 to 60000, or 65536 and above.")) \
	F(S, group, STR(PHX_ACCOUNT_NAME_MAX), \
	  KEY(group, TEXT(0, 32), "", \
	      "His first group, one of `groups` of the file; by default one of his own, with his " \
	      "name and number.")) \
	F(S, groups, LIST(phx_word), \
	  KEY(groups, WORDS(64), "", "Further groups, of those of the file.")) \
	F(S, gecos, STR(128), KEY(gecos, TEXT(0, 127), "", "His name in full.")) \
	F(S, home, STR(256), \
	  KEY(home, TEXT(0, 255), "", \
	      "His home, by default /home/NAME; made where it is missing, never removed.")) \
	F(S, shell, STR(128), KEY(shell, TEXT(1, 127), "/bin/bash", "His shell.")) \
	F(S, sudo, BOOL, \
	  KEY(sudo, YES, "false", "Whether he may run everything as root, without a password.")) \
	F(S, sudo_rules, LIST(phx_word), \
	  KEY(sudo_rules, WORDS(64), "", \
	      "What he may run otherwise, as sudoers(5) writes it behind the user: " \
	      "\"ALL=(root) NOPASSWD: /usr/sbin/reboot\". Nobody has a password, so a rule " \
	      "without NOPASSWD allows nothing.")) \
	F(S, locked, BOOL, \
	  KEY(locked, YES, "false", \
	      "He keeps account and files, and cannot log in; his processes are ended.")) \
	F(S, roles, LIST(phx_word), \
	  KEY(roles, WORDS(64), "", \
	      "Roles on whose nodes he has the account. Without roles, labels and nodes he has " \
	      "it " \
	      "on every node; otherwise on those that one of the three names.")) \
	F(S, labels, LIST(phx_word), \
	  KEY(labels, WORDS(64), "", "Labels of nodes, as \"rack=3\".")) \
	F(S, nodes, LIST(phx_word), KEY(nodes, WORDS(64), "", "Lists of nodes, as \"n[1-9]\".")) \
	F(S, keys, LIST(phx_text), \
	  KEY(keys, OTHER, "", \
	      "His SSH public keys, as ssh-keygen writes them, without options. Without keys he " \
	      "does not log in.")) \
	F(S, place, STR(PHX_SITE_PLACE_MAX))
PHX_RECORD_STRUCT(phx_site_user, PHX_SITE_USER_FIELDS);

/** Which nodes a file is for; of files with one path the last in this order counts. */
enum phx_site_scope {
	PHX_SITE_ALL,
	PHX_SITE_PROFILE,
	PHX_SITE_ROLE,
	PHX_SITE_LABEL,
	PHX_SITE_NODE,
	PHX_SITE_SCOPE_COUNT_
};
/** Their names as folders below files/. */
extern const struct phx_enum phx_site_scope_names;

#define PHX_SITE_FILE_FIELDS(F, S) \
	F(S, path, STR(256), \
	  KEY(path, TEXT(1, 255), PHX_REQUIRED, \
	      "Path on the node; a file of files/ must have it.")) \
	F(S, owner, STR(PHX_ACCOUNT_NAME_MAX), \
	  KEY(owner, TEXT(1, 32), "root", "Owner: root, a user of the site, or a number.")) \
	F(S, group, STR(PHX_ACCOUNT_NAME_MAX), \
	  KEY(group, TEXT(1, 32), "root", "Group: root, one of the site, or a number.")) \
	F(S, mode, STR(8), \
	  KEY(mode, TEXT(3, 4), PHX_SITE_MODE_DEFAULT, \
	      "Mode, in octal digits, without set-id bits; others may not write.")) \
	F(S, secret, BOOL, \
	  KEY(secret, YES, "false", \
	      "Its content is for the node alone: the mode must give others nothing, and no " \
	      "difference is shown.")) \
	F(S, run, LIST(phx_word), \
	  KEY(run, WORDS(16), "", \
	      "Program with arguments, without a shell, that the node runs when the file has " \
	      "changed, come or gone: [ \"systemctl\", \"try-restart\", \"rsyslog.service\" ].")) \
	F(S, scope, ENUM(phx_site_scope)) \
	F(S, of, STR(2 * PHX_NAME_MAX)) /* the profile, role, label or node */ \
	F(S, text, TEXT) \
	F(S, place, STR(PHX_SITE_PLACE_MAX))
PHX_RECORD_STRUCT(phx_site_file, PHX_SITE_FILE_FIELDS);

#define PHX_SITE_FIELDS(F, S) \
	F(S, domain, STR(128), \
	  KEY(domain, TEXT(0, 127), "", "Domain of the site: @DOMAIN@ in files.")) \
	F(S, ntp, LIST(phx_word), \
	  KEY(ntp, WORDS(16), "", "Time servers, names or addresses, for chrony.")) \
	F(S, serve_names, BOOL, \
	  KEY(serve_names, YES, "false", \
	      "phxd's DHCP server tells names of nodes, too: NAME, NAME.DOMAIN, and of which " \
	      "node " \
	      "an address is; the domain is that of the network, of phoenix.conf, or of this " \
	      "file. Nodes ask it then, at the head's address, and no other.")) \
	F(S, forward_dns, BOOL, \
	  KEY(forward_dns, YES, "false", \
	      "With serve_names: what is asked of others goes to `dns` of phoenix.conf and of " \
	      "networks.conf; otherwise it is refused.")) \
	F(S, root_keys, LIST(phx_text)) \
	F(S, groups, LIST(phx_site_group)) \
	F(S, users, LIST(phx_site_user)) \
	F(S, files, LIST(phx_site_file)) \
	F(S, networks, LIST(phx_site_network)) \
	F(S, profiles, LIST(phx_site_set)) \
	F(S, nodes, LIST(phx_site_set)) \
	F(S, again, U32) /* of the head: see the bundle */ \
	/* of the head, kept as long as it is: ids and digests tell nobody what a secret may be */ \
	F(S, salt, STR(65))
PHX_RECORD_STRUCT(phx_site, PHX_SITE_FIELDS);

/** Is told each thing that is wrong, as "users.conf:12: what". */
typedef void (*phx_site_say_fn)(void *arg, const char *text);

/** Checks all of it, and says all that is wrong. Returns how much that is, or -ENOMEM. */
int phx_site_check(const struct phx_site *s, phx_site_say_fn say, void *arg);

/** The same of networks alone, which phx_site_check() checks too. Returns how much is wrong. */
int phx_site_networks_check(const struct phx_list *networks, phx_site_say_fn say, void *arg);

/** Is it the name of a host or of a domain (RFC 1123: labels of letters, digits and hyphens, none
 * of which begins or ends with a hyphen; a dot may end it), or has it only characters of addresses?
 */
bool phx_site_is_host(const char *s);

/** Is it an SSH public key, "TYPE BASE64 [COMMENT]", without options? -EINVAL with a text that
 * follows "the key ". */
int phx_site_key_check(const char *line, struct phx_err *err);

/** May the settings put a file there? -EINVAL, -EPERM with a text. */
int phx_site_path_check(const char *path, struct phx_err *err);
/** Is it a file that says how the node reaches the network? A change of it is taken back by the
 * node when the head is not heard from then. */
bool phx_site_is_network(const char *path);
/** Is it an absolute path without "..", "." and empty parts? */
bool phx_site_path_is_plain(const char *path);

/* ---- what a node gets ---- */

/** The facts of a node on which its bundle depends. All borrowed. */
struct phx_site_node {
	const char *name, *address, *role, *pool;
	const char *os; /* of the system that runs on it, as os-release names it; NULL: unknown */
	const struct phx_list *labels; /* struct phx_label */
};
/** A hash of them: with equal hashes the bundle of given settings is the same. */
uint64_t phx_site_node_hash(const struct phx_site_node *n);

#define PHX_SITE_OUT_FIELDS(F, S) \
	F(S, path, STR(256)) \
	F(S, uid, U32) \
	F(S, gid, U32) \
	F(S, mode, U32) \
	F(S, text, TEXT) \
	F(S, run, LIST(phx_word))
PHX_RECORD_STRUCT(phx_site_out, PHX_SITE_OUT_FIELDS);

#define PHX_SITE_BUNDLE_FIELDS(F, S) \
	F(S, id, U64)                     /* never 0 */ \
	F(S, accounts, REC(phx_accounts)) /* their RE is PHX_SITE_ACCOUNTS */ \
	F(S, files, LIST(phx_site_out))   /* by path */ \
	/* how often people have said that a network which was rolled back be tried again */ \
	F(S, again, U32)
PHX_RECORD_STRUCT(phx_site_bundle, PHX_SITE_BUNDLE_FIELDS);
#define PHX_SITE_ACCOUNTS "site"
#define PHX_SITE_NOLOGIN "/usr/sbin/nologin" /* the shell of who is locked */

struct phx_site_index; /* site/effective.h */

/** Does what a node gets follow from its label of that key: who logs in there, or its files? */
bool phx_site_goes_by_label(const struct phx_site *s, const char *key);

/** Makes the bundle of a node. Settings must have passed phx_site_check(). -ENOMEM; *ret is
 * untouched then. The caller frees it by phx_record_fini(&phx_site_bundle_record, ret). A file with
 * a variable that this node does not have is left out, and the last one said in `lacks` (NULL:
 * nobody asks). */
int phx_site_render(const struct phx_site_index *ix, const struct phx_site_node *n,
		    struct phx_site_bundle *ret, struct phx_err *lacks);

/** Which variables do files have that some of these nodes lack? Says each, with the nodes folded.
 * Returns how many there are, or -ENOMEM. */
int phx_site_check_nodes(const struct phx_site_index *ix, const struct phx_site_node *nodes,
			 uint32_t n_nodes, phx_site_say_fn say, void *arg);

/** The text of /etc/sudoers.d/phoenix with the rules of `user`, or of all users (NULL);
 * malloc'd, "" without rules, NULL: -ENOMEM. */
char *phx_site_sudoers(const struct phx_site *s, const struct phx_site_user *user);

#endif
