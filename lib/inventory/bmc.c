/* The address of this machine's own BMC, asked over the kernel's interface to it (/dev/ipmi0, IPMI
 * 2.0: 22.24 Get Channel Info, 23.2 Get LAN Configuration Parameters): see internal.h. Called by
 * inventory.c; bounded in time, since a BMC that hangs must not delay the report. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ipmi.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/file.h"
#include "inventory/internal.h"

enum {
	ANSWER_MS = 2000, /* for one question; the first that is not answered is the last */
	APP = 0x06,
	TRANSPORT = 0x0c,
	GET_CHANNEL_INFO = 0x42,
	GET_LAN_PARAMETER = 0x02,
	PARAMETER_ADDRESS = 3,
	CHANNELS = 12,
	MEDIUM_LAN = 4,
};

/* ---- what is asked ---- */

/* Asks; returns the bytes behind a completion code of 0, -EIO for another code, or -errno. */
static int question(const struct phx_bmc_line *line, uint8_t netfn, uint8_t command,
		    const uint8_t *data, size_t n, uint8_t ret[PHX_BMC_ANSWER_MAX])
{
	int r = line->ask(line->arg, netfn, command, data, n, ret);
	if (r == 0)
		return -EIO;
	if (r < 0)
		return r;
	if (ret[0])
		return -EIO;
	memmove(ret, ret + 1, (size_t)r - 1);
	return r - 1;
}

static int is_lan(const struct phx_bmc_line *line, uint8_t channel)
{
	uint8_t answer[PHX_BMC_ANSWER_MAX];
	int r = question(line, APP, GET_CHANNEL_INFO, &channel, 1, answer);
	return r < 0 ? r : r >= 2 && (answer[1] & 0x7f) == MEDIUM_LAN;
}

/* 1: the channel has an address. */
static int read_address(const struct phx_bmc_line *line, uint8_t channel, char ret[64])
{
	const uint8_t data[] = {channel, PARAMETER_ADDRESS, 0, 0};
	uint8_t answer[PHX_BMC_ANSWER_MAX];
	struct in_addr a;
	int r = question(line, TRANSPORT, GET_LAN_PARAMETER, data, sizeof(data), answer);
	if (r < 0)
		return r;
	if (r < 1 + (int)sizeof(a)) /* behind the parameter's revision */
		return 0;
	memcpy(&a, answer + 1, sizeof(a));
	return a.s_addr != INADDR_ANY && a.s_addr != INADDR_NONE && inet_ntop(AF_INET, &a, ret, 64);
}

void phx_bmc_find_address(const struct phx_bmc_line *line, char ret[64])
{
	ret[0] = '\0';
	for (uint8_t channel = 1; channel < CHANNELS; channel++) {
		int r = is_lan(line, channel);
		if (r == 1)
			r = read_address(line, channel, ret);
		if (r == 1)
			return;
		if (r < 0 && r != -EIO) /* a channel that there is not is an error of the BMC's */
			return;
	}
}

/* ---- how: the kernel's driver ---- */

static int receive(int fd, long id, uint8_t ret[PHX_BMC_ANSWER_MAX])
{
	for (;;) {
		struct ipmi_addr from;
		struct ipmi_recv answer = {.addr = (unsigned char *)&from,
					   .addr_len = sizeof(from),
					   .msg = {.data = ret, .data_len = PHX_BMC_ANSWER_MAX}};
		int r = poll(&(struct pollfd){fd, POLLIN, 0}, 1, ANSWER_MS);
		if (r <= 0)
			return r < 0 ? -errno : -ETIMEDOUT;
		if (ioctl(fd, IPMICTL_RECEIVE_MSG_TRUNC, &answer) < 0)
			return -errno;
		/* the answer of a question that was given up comes late */
		if (answer.recv_type == IPMI_RESPONSE_RECV_TYPE && answer.msgid == id)
			return answer.msg.data_len;
	}
}

static int ask_kernel(void *arg, uint8_t netfn, uint8_t command, const uint8_t *data, size_t n,
		      uint8_t ret[PHX_BMC_ANSWER_MAX])
{
	int *fd = arg;
	struct ipmi_system_interface_addr bmc = {.addr_type = IPMI_SYSTEM_INTERFACE_ADDR_TYPE,
						 .channel = IPMI_BMC_CHANNEL};
	struct ipmi_req req = {.addr = (unsigned char *)&bmc,
			       .addr_len = sizeof(bmc),
			       .msgid = netfn << 8 | command,
			       .msg = {netfn, command, (uint16_t)n, (unsigned char *)data}};
	if (ioctl(*fd, IPMICTL_SEND_COMMAND, &req) < 0)
		return -errno;
	return receive(*fd, req.msgid, ret);
}

void phx_inventory_read_bmc(const char *root, struct phx_facts *f)
{
	PHX_AUTO_CLOSE int fd = *root ? -1 : open("/dev/ipmi0", O_RDWR | O_CLOEXEC);
	const struct phx_bmc_line line = {ask_kernel, &fd};
	if (fd >= 0)
		phx_bmc_find_address(&line, f->bmc_address);
}
