/* What a power driver is: private to lib/power. A driver does single acts
 * against one BMC and reports what it says; power.c repeats, observes and
 * judges. Drivers keep no state between calls. */
#ifndef PHX_POWER_DRIVER_H
#define PHX_POWER_DRIVER_H

#include "power/drivers.h"
#include "power/power.h"

struct phx_power_driver {
	bool observes; /* status() tells the truth sooner or later */
	bool by_node;  /* the record names no BMC: each node has its own */
	/** Fields of the record that the driver needs; -EINVAL names one. */
	int (*check)(const struct phx_bmc *bmc, struct phx_err *err);
	/** Are the files there that a record which passed check() names? As phx_power_ready().
	 * NULL: it names none. */
	int (*ready)(const struct phx_bmc *bmc, struct phx_err *err);
	/** What the BMC reports now. Errors as phx_power_do(). */
	int (*status)(const struct phx_bmc *bmc, uint32_t timeout_ms,
		      enum phx_power_state *ret_state, struct phx_err *err);
	/** Has the driver that operation? -EOPNOTSUPP says what it has. NULL: all of them. */
	int (*can)(enum phx_power_op op, struct phx_err *err);
	/** Give the order for ON, OFF, SOFT, RESET, BOOT_PXE or BOOT_DISK and return
	 * when the BMC took it. -EBUSY: worth repeating. */
	int (*order)(const struct phx_bmc *bmc, enum phx_power_op op, uint32_t timeout_ms,
		     struct phx_err *err);
};

#define DRIVER(name, keys) extern const struct phx_power_driver phx_power_##name;
PHX_POWER_DRIVERS(DRIVER)
#undef DRIVER

/** The driver that the record names; -EINVAL when there is none of that name. */
int phx_power_driver(const struct phx_bmc *bmc, const struct phx_power_driver **ret,
		     struct phx_err *err);

/** ready() of drivers whose record names a password file. */
int phx_power_password_ready(const struct phx_bmc *bmc, struct phx_err *err);

/** The single line of a password file into `*ret_secret` (malloc'd; wiped and
 * freed by PHX_AUTO_SECRET). -EINVAL when the file is not private to its owner,
 * is empty or longer than one line or `max` bytes; the text names the file. */
int phx_power_secret_read(const char *path, size_t max, char **ret_secret, struct phx_err *err);

void phx_power_secret_free(char **secret);
#define PHX_AUTO_SECRET PHX_AUTO(phx_power_secret_free)

/** "host", "host:port", "[v6]:port" taken apart; -EINVAL when it is none. */
struct phx_power_host {
	char name[128];
	uint16_t port;
};
int phx_power_host_parse(const char *text, uint16_t default_port, struct phx_power_host *ret,
			 struct phx_err *err);

#endif
