/* Selectors of disks: which disks somebody means, by what they are. "transport=fc, size=1TiB.." is
 * one selector, and a disk meets it if it meets all of its terms:
 *
 *	id, serial, model, transport	a pattern: '*' is any text, '?' one character
 *	path				a pattern that one of the disk's paths meets
 *	size				SIZE, MIN..MAX, MIN.. or ..MAX
 *
 * What is unknown of a disk meets nothing. Several selectors mean the disks that meet one of them.
 * By these, disks are protected: they are never written and never erased. Pure. */
#ifndef PHX_TYPES_DISK_SELECT_H
#define PHX_TYPES_DISK_SELECT_H

#include "types/facts.h"

enum {
	PHX_SELECTORS_TEXT_MAX =
		1024, /* of phoenix.conf, and of the site's settings for one node */
	PHX_SELECTORS_BOTH_MAX = 2 * PHX_SELECTORS_TEXT_MAX,
	PHX_SELECTOR_MAX = 200,
	PHX_PROTECTED_WHY_MAX = 96,
};

/** -EINVAL: it is no selector; the text says what would be right, to follow it in a sentence. */
int phx_disk_selector_check(const char *selector, struct phx_err *err);

/** Does the disk meet the selector? One that is wrong is met by none. */
bool phx_disk_selected(const char *selector, const struct phx_disk_facts *d);

/** Which disks are protected. */
#define PHX_PROTECT_FIELDS(F, S) \
	F(S, remote, BOOL) /* all that are not in the machine */ \
	/* those that meet one of these, a line each; all of them are right */ \
	F(S, selectors, STR(PHX_SELECTORS_BOTH_MAX))
PHX_RECORD_STRUCT(phx_protect, PHX_PROTECT_FIELDS);

/** What the settings of the site protect besides, on some nodes. */
#define PHX_PROTECT_GROUP_FIELDS(F, S) \
	F(S, nodes, TEXT)     /* a list of names, folded */ \
	F(S, selectors, TEXT) /* a line each, less than PHX_SELECTORS_TEXT_MAX in all */
PHX_RECORD_STRUCT(phx_protect_group, PHX_PROTECT_GROUP_FIELDS);

/** The same of one node. */
#define PHX_PROTECT_NODE_FIELDS(F, S) \
	F(S, node, STR(PHX_NAME_MAX)) \
	F(S, selectors, TEXT)
PHX_RECORD_STRUCT(phx_protect_node, PHX_PROTECT_NODE_FIELDS);

/** Adds selectors, a line each. -E2BIG: they do not fit; p is untouched then. */
int phx_protect_add(struct phx_protect *p, const char *selectors);

/** Are all of its selectors ones that are known here? -EINVAL with a text: who does not understand
 * one cannot tell which disks it protects. */
int phx_protect_check(const struct phx_protect *p, struct phx_err *err);

/** Is the disk protected? ret_why: by which setting, for people. */
bool phx_disk_protected(const struct phx_protect *p, const struct phx_disk_facts *d,
			char ret_why[PHX_PROTECTED_WHY_MAX]);

#endif
