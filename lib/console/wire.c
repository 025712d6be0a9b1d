/* conserver's protocol, once somebody is attached: bytes as they are, but for those by which the
 * two ends give each other orders. A person's bytes are never one: neither "^Ec|", by which
 * conserver has programs run, nor any other. Called by phxd for each session. */
#include "console/console.h"

size_t phx_console_wire_in(char *data, size_t n, bool *held)
{
	size_t to = 0;
	for (size_t i = 0; i < n; i++) {
		const bool command = (uint8_t)data[i] == PHX_CONSOLE_COMMAND;
		if (*held && command)
			data[to++] = data[i]; /* twice: the byte itself */
		else if (!*held && !command)
			data[to++] = data[i];
		*held = !*held && command;
	}
	return to;
}

size_t phx_console_wire_out(char *data, size_t n)
{
	size_t to = 0;
	for (size_t i = 0; i < n; i++)
		if ((uint8_t)data[i] < PHX_CONSOLE_ORDER)
			data[to++] = data[i];
	return to;
}
