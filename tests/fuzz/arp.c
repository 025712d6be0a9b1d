/* What other machines say of a virtual address (ARP), as a director sees it. The input: the
 * hardware address of this machine, then frames: how the kernel got one, its length, its bytes.
 * The socket is fake, and its filter, as it is set, is carried out as a kernel would. What is seen
 * is what a frame says that is whole, of another machine and of this address alone.
 * Parsers: lib/ipvs/arp.c */
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "fuzz/fuzz.h"
#include "web/claim.h"

enum { FRAME = 28, MOST = 64 };
static const uint8_t virtual[4] = {10, 1, 0, 9}, nobody[4];
static const uint8_t *mac, *rest, *end;
static struct sock_filter filter_code[16];
static unsigned n_filter, n_sent;
static bool bound;
/* what the frames say that were given */
static struct phx_web_sight *said;
static char said_other[18];

/* ---- the kernel ---- */

static uint32_t carry_out(const uint8_t *frame, size_t n)
{
	uint32_t a = 0;
	for (unsigned i = 0; i < n_filter; i++) {
		const struct sock_filter *op = &filter_code[i];
		if (op->code == (BPF_LD | BPF_W | BPF_ABS) && (size_t)op->k + 4 <= n)
			a = (uint32_t)frame[op->k] << 24 | (uint32_t)frame[op->k + 1] << 16 |
				(uint32_t)frame[op->k + 2] << 8 | frame[op->k + 3];
		else if (op->code == (BPF_JMP | BPF_JEQ | BPF_K))
			i += a == op->k ? op->jt : op->jf;
		else
			return op->code == (BPF_RET | BPF_K) ? op->k : 0;
	}
	fuzz_never(true);
	return 0;
}

static int fake_socket(int family, int type, int protocol)
{
	fuzz_never(family != AF_PACKET || !(type & SOCK_DGRAM) || protocol);
	return dup(0);
}

static int fake_setsockopt(int fd, int level, int option, const void *value, socklen_t n)
{
	const struct sock_fprog *p = value;
	(void)fd;
	fuzz_never(level != SOL_SOCKET || option != SO_ATTACH_FILTER || n != sizeof(*p) ||
		   p->len > 16 || bound);
	memcpy(filter_code, p->filter, p->len * sizeof(*p->filter));
	n_filter = p->len;
	return 0;
}

static int fake_ioctl(int fd, unsigned long request, struct ifreq *req)
{
	(void)fd;
	fuzz_never(request != SIOCGIFHWADDR);
	memcpy(req->ifr_hwaddr.sa_data, mac, ETH_ALEN);
	return 0;
}

static int fake_bind(int fd, const struct sockaddr *at, socklen_t n)
{
	(void)fd, (void)at, (void)n;
	bound = n_filter;
	return 0;
}

/* Each of our own says who asks, and is seen by nobody as one of another's. */
static ssize_t fake_sendto(int fd, const void *frame, size_t n, int flags,
			   const struct sockaddr *to, socklen_t n_to)
{
	const uint8_t *f = frame;
	(void)fd, (void)flags, (void)to, (void)n_to;
	fuzz_never(n != FRAME || memcmp(f + 8, mac, 6) || memcmp(f + 24, virtual, 4));
	fuzz_never(!carry_out(f, n) || memcmp(f + 14, n_sent++ ? nobody : virtual, 4));
	return (ssize_t)n;
}

/* What a whole frame says, by the bytes of RFC 826. */
static void understand(const uint8_t *f)
{
	static const uint8_t begin[] = {8, 0, 6, 4};
	int above = memcmp(f + 8, mac, 6);
	if (memcmp(f + 2, begin, 4) || !above)
		return;
	if (!memcmp(f + 14, virtual, 4)) {
		said->holds = true;
		snprintf(said_other, sizeof(said_other), "%02x:%02x:%02x:%02x:%02x:%02x", f[8],
			 f[9], f[10], f[11], f[12], f[13]);
	} else if (f[6] == 0 && f[7] == 1 && !memcmp(f + 14, nobody, 4) &&
		   !memcmp(f + 24, virtual, 4)) {
		said->asks = true;
		said->lower = said->lower || above < 0;
	}
}

static unsigned n_given;

static ssize_t fake_recvfrom(int fd, void *to, size_t max, int flags, struct sockaddr *from,
			     socklen_t *n_from)
{
	(void)fd, (void)flags, (void)n_from;
	while (end - rest >= 2 && n_given < MOST) {
		uint8_t type = rest[0];
		size_t n = (size_t)(end - rest - 2) < rest[1] ? (size_t)(end - rest - 2) : rest[1];
		const uint8_t *frame = rest + 2;
		rest = frame + n;
		size_t keep = carry_out(frame, n);
		n = keep < n ? keep : n;
		if (!n)
			continue;
		n_given++;
		((struct sockaddr_ll *)from)->sll_pkttype = type;
		memcpy(to, frame, n < max ? n : max);
		if (n == FRAME && type != PACKET_OUTGOING)
			understand(frame);
		return (ssize_t)(n < max ? n : max);
	}
	errno = EAGAIN;
	return -1;
}

#define socket fake_socket
#define setsockopt fake_setsockopt
#define ioctl fake_ioctl
#define bind fake_bind
#define sendto fake_sendto
#define recvfrom fake_recvfrom
#define if_nametoindex(name) ((unsigned)*(name) / 'e') /* "eth0" is there */
#include "ipvs/arp.c"

/* What is not there, and what is no address, is not watched. */
static void refuse(void)
{
	struct phx_ipvs_watch *w = NULL;
	struct phx_err err = {0};
	fuzz_never(phx_ipvs_watch_open("all", "10.1.0.9", &w, &err) != -ENODEV || w ||
		   !err.text[0]);
	phx_err_clear(&err);
	fuzz_never(phx_ipvs_watch_open("eth0", "10.1.0", &w, &err) >= 0 || w || !err.text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct phx_ipvs_watch *w = NULL;
	struct phx_web_sight seen, is = {0};
	char other[18] = "";
	if (n < ETH_ALEN)
		return 0;
	mac = data;
	rest = data + ETH_ALEN;
	end = data + n;
	said = &is;
	said_other[0] = '\0';
	n_filter = n_sent = n_given = 0;
	bound = false;
	refuse();
	fuzz_never(phx_ipvs_watch_open("eth0", "10.1.0.9", &w, NULL) < 0 || !bound);
	fuzz_never(phx_ipvs_watch_announce(w, NULL) < 0 || phx_ipvs_watch_probe(w, NULL) < 0);
	phx_ipvs_watch_read(w, &seen, other);
	fuzz_never(seen.holds != is.holds || seen.asks != is.asks || seen.lower != is.lower ||
		   strcmp(other, said_other));
	phx_ipvs_watch_close(w);
	return 0;
}
