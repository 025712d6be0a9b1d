/* Packages of a system that an image holds, as its own package manager counts them: read, written,
 * compared. Not the packages of Phoenix (repo/repo.h). Inside lib/deploy and for `phx image`; opens
 * no file. */
#ifndef PHX_DEPLOY_PACKAGES_H
#define PHX_DEPLOY_PACKAGES_H

#include "base/record.h"

enum {
	PHX_OS_PACKAGES_TEXT_MAX = 64 << 20, /* bytes of what a package manager wrote */
	PHX_OS_PACKAGES_MAX = 100000,
};

struct phx_os_package {
	char name[128], architecture[32], version[128];
};

/** One that differs between two systems: "" in `from` it came, in `to` it went. */
#define PHX_OS_CHANGE_FIELDS(F, S) \
	F(S, name, STR(128)) \
	F(S, architecture, STR(32)) \
	F(S, from, STR(128)) \
	F(S, to, STR(128))
PHX_RECORD_STRUCT(phx_os_change, PHX_OS_CHANGE_FIELDS);

/** The database of dpkg, var/lib/dpkg/status: what is installed, also half. `what` begins every
 * error text, "WHAT:LINE: ...". ret (struct phx_os_package, by name, architecture, version) is
 * owned. -EINVAL. */
int phx_dpkg_parse(const char *text, size_t n, const char *what, struct phx_list *ret,
		   struct phx_err *err);

/** Lines "NAME ARCHITECTURE VERSION", which is what packages.txt of an image holds, in any order;
 * otherwise as phx_dpkg_parse(). */
int phx_packages_parse(const char *text, size_t n, const char *what, struct phx_list *ret,
		       struct phx_err *err);
/** These lines, malloc'd; NULL on ENOMEM. */
char *phx_packages_format(const struct phx_list *packages);

/** What is otherwise in `to` (both as they were parsed): ret, struct phx_os_change, owned. Of a
 * package that is there several times, as kernels are, the versions that both have count as the
 * same. -ENOMEM. */
int phx_packages_compare(const struct phx_list *from, const struct phx_list *to,
			 struct phx_list *ret);
/** Lines "NAME ARCHITECTURE FROM TO", "-" where there is none: changes.txt; malloc'd. */
char *phx_changes_format(const struct phx_list *changes);
/** The same read: ret, struct phx_os_change, owned. */
int phx_changes_parse(const char *text, size_t n, const char *what, struct phx_list *ret,
		      struct phx_err *err);

#endif
