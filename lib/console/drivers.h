/* The console drivers: one row here and one in driver.c each. What names or lists drivers (the help
 * and the manual of `phx node bmc`, the table of driver.c) is made of these rows. */
#ifndef PHX_CONSOLE_DRIVERS_H
#define PHX_CONSOLE_DRIVERS_H

/** D(name, "keys of a node's BMC record (types/bmc.h) that it reads"). */
#define PHX_CONSOLE_DRIVERS(D) \
	D(ipmi, "address, user, password_file, workarounds") \
	D(script, "console_script") \
	D(none, "nothing")

#endif
