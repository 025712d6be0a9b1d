/* The table of console drivers: see drivers.h. Called by the process that has consoles, and by phxd
 * when somebody says what BMC a node has. Starts nothing itself. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "console/console.h"
#include "power/freeipmi.h"

struct meaning {
	const char *said, *meaning;
};

struct driver {
	const char *name;
	int (*check)(const struct phx_bmc *bmc, struct phx_err *err);
	int (*make)(const struct phx_bmc *bmc, const char *secret_path, bool steal,
		    struct phx_console_run *ret, struct phx_err *err);
	char escape; /* the program takes orders by it: typed, it is doubled; 0: none */
	const struct meaning *meanings;
	size_t n_meanings;
};

/* ---- ipmi: ipmiconsole of FreeIPMI ---- */

/* What ipmiconsole says at its end; the first row found counts. */
static const struct meaning of_ipmi[] = {
	{"SOL in use", "somebody else has the serial line (SOL) of this BMC: --steal takes it"},
	{"SOL session stolen", "somebody else took the serial line (SOL) of this BMC"},
	{"SOL unavailable", "the BMC gives this user no serial line (SOL)"},
	{"SOL requires", "the BMC gives a serial line (SOL) only with other encryption"},
	{"password invalid", "the BMC refuses the password"},
	{"password verification timeout", "the BMC refuses the password, or stopped answering"},
	{"username invalid", "the BMC does not know the user"},
	{"privilege level cannot be obtained",
	 "the BMC refuses the privilege level "
	 "(some need workarounds = \"opensesspriv\")"},
	{"privilege level insufficient", "the user may not do this"},
	{"hostname invalid", "there is no such host"},
	{"connection timeout", "the BMC does not answer"},
	{"session timeout", "the BMC stopped answering"},
	{"excess retransmissions", "the BMC stopped answering"},
	{"excess errors", "the BMC answers with errors"},
	{"BMC busy", "the BMC is busy"},
	{"BMC Error", "the BMC refused the serial line (SOL)"},
	{"session disconnect", "the BMC ended the serial line (SOL)"},
};

static int check_ipmi(const struct phx_bmc *bmc, struct phx_err *err)
{
	if (!bmc->address[0])
		return phx_err_set(err, -EINVAL, "address: the console driver ipmi needs it");
	return bmc->password_file[0]
		? 0
		: phx_err_set(err, -EINVAL, "password_file: the console driver ipmi needs it");
}

static int make_ipmi(const struct phx_bmc *bmc, const char *secret_path, bool steal,
		     struct phx_console_run *ret, struct phx_err *err)
{
	struct phx_freeipmi f = {0};
	int r = phx_freeipmi_make(bmc, &f, err);
	if (r < 0)
		return r;
	PHX_STR_SET(ret->host, f.host);
	PHX_STR_SET(ret->workarounds, f.workarounds);
	ret->secret = PHX_TAKE(f.config);
	snprintf(ret->config, sizeof(ret->config), "--config-file=%s", secret_path);
	const char *const words[] = {"ipmiconsole", ret->config, "-u", bmc->user, "-h",
				     ret->host,     "-I",        "3",  "-l",      "ADMIN"};
	size_t n = PHX_ARRAY_SIZE(words);
	memcpy(ret->argv, words, sizeof(words));
	if (ret->workarounds[0]) {
		ret->argv[n++] = "-W";
		ret->argv[n++] = ret->workarounds;
	}
	if (!steal)
		ret->argv[n++] = "--dont-steal";
	ret->argv[n] = NULL;
	return 0;
}

/* ---- script: a program of the site, whose terminal is the console ---- */

static int check_script(const struct phx_bmc *bmc, struct phx_err *err)
{
	return bmc->console_script[0] == '/' ? 0
					     : phx_err_set(err, -EINVAL,
							   "console_script: the console driver "
							   "script needs the full path of a "
							   "program");
}

static int make_script(const struct phx_bmc *bmc, const char *secret_path, bool steal,
		       struct phx_console_run *ret, struct phx_err *err)
{
	(void)secret_path;
	(void)steal;
	if (access(bmc->console_script, X_OK) < 0)
		return phx_err_set(err, -EINVAL, "console_script %s: %s", bmc->console_script,
				   strerror(errno));
	if (phx_file_trusted(bmc->console_script, err) < 0)
		return phx_err_prefix(err, -EINVAL, "console_script");
	PHX_STR_SET(ret->path, bmc->console_script);
	ret->argv[0] = ret->path;
	ret->argv[1] = bmc->node;
	ret->argv[2] = NULL;
	return 0;
}

/* ---- none ---- */

static int check_none(const struct phx_bmc *bmc, struct phx_err *err)
{
	(void)bmc;
	(void)err;
	return 0;
}

static int make_none(const struct phx_bmc *bmc, const char *secret_path, bool steal,
		     struct phx_console_run *ret, struct phx_err *err)
{
	(void)secret_path;
	(void)steal;
	(void)ret;
	return phx_err_set(err, -EOPNOTSUPP, "%s has no console (phx node bmc)", bmc->node);
}

/* ---- the table ---- */

static const struct driver drivers[] = {
	[PHX_CONSOLE_ipmi] = {"ipmi", check_ipmi, make_ipmi, '&', of_ipmi, PHX_ARRAY_SIZE(of_ipmi)},
	[PHX_CONSOLE_script] = {"script", check_script, make_script, 0, NULL, 0},
	[PHX_CONSOLE_none] = {"none", check_none, make_none, 0, NULL, 0},
};

int phx_console_driver_of(const struct phx_bmc *bmc, enum phx_console_driver *ret,
			  struct phx_err *err)
{
	static const char *const names[] = {
#define DRIVER(name, keys) #name,
		PHX_CONSOLE_DRIVERS(DRIVER)
#undef DRIVER
	};
	static const struct phx_enum drivers_names = {"console driver", names,
						      PHX_ARRAY_SIZE(names)};
	int i = strcmp(bmc->driver, "ipmi") ? PHX_CONSOLE_none : PHX_CONSOLE_ipmi;
	int r = bmc->console[0] ? phx_enum_parse(&drivers_names, bmc->console, &i, err) : 0;
	if (r == 0)
		*ret = (enum phx_console_driver)i;
	return r;
}

int phx_console_check(const struct phx_bmc *bmc, struct phx_err *err)
{
	enum phx_console_driver which;
	int r = phx_console_driver_of(bmc, &which, err);
	return r ? phx_err_prefix(err, r, "console") : drivers[which].check(bmc, err);
}

int phx_console_run_make(const struct phx_bmc *bmc, const char *secret_path, bool steal,
			 struct phx_console_run *ret, struct phx_err *err)
{
	enum phx_console_driver which;
	int r = phx_console_check(bmc, err);
	*ret = (struct phx_console_run){0};
	r = r ? r : phx_console_driver_of(bmc, &which, err);
	return r ? r : drivers[which].make(bmc, secret_path, steal, ret, err);
}

void phx_console_run_fini(struct phx_console_run *r)
{
	if (r->secret)
		explicit_bzero(r->secret, strlen(r->secret));
	free(PHX_TAKE(r->secret));
}

const char *phx_console_why(enum phx_console_driver driver, const char *said, size_t n, int status)
{
	const struct driver *d = &drivers[driver];
	for (size_t i = 0; i < d->n_meanings; i++)
		if (memmem(said, n, d->meanings[i].said, strlen(d->meanings[i].said)))
			return d->meanings[i].meaning;
	return status == 127 ? "its program is not installed" : "its program has ended";
}

void phx_console_typed(enum phx_console_driver driver, const char *data, size_t n, uint8_t *held,
		       struct phx_buf *b)
{
	const char escape = drivers[driver].escape;
	for (size_t i = 0; i < n; i++) {
		const uint8_t c = (uint8_t)data[i];
		const bool order = *held == PHX_CONSOLE_BREAK;
		*held = !order && c == PHX_CONSOLE_BREAK ? c : 0;
		if (order && c == 'B' && escape)
			phx_buf_addf(b, "%cB", escape);
		if (order || *held)
			continue;
		if (escape && data[i] == escape)
			phx_buf_add(b, &escape, 1);
		phx_buf_add(b, data + i, 1);
	}
}
