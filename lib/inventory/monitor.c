/* One sample of what the node is doing: see inventory.h. Called by the agent
 * with each heartbeat; small reads into the stack, nothing allocated. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/sysfs.h"
#include "inventory/internal.h"

enum { TEXT_MAX = 32 * 1024, SECTOR = 512 };

PHX_RECORD_TABLE(phx_monitor, PHX_MONITOR_FIELDS);

/* user nice system idle iowait irq softirq steal; guest time is in user already */
static int read_cpu(const char *root, struct phx_monitor *m)
{
	char text[512];
	unsigned long long v[8] = {0};
	int r = phx_sys_text(root, text, sizeof(text), "proc/stat");
	if (r < 0)
		return r;
	if (sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1], &v[2], &v[3],
		   &v[4], &v[5], &v[6], &v[7]) < 4)
		return -EBADMSG;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(v); i++)
		m->cpu_total_ticks += v[i];
	m->cpu_busy_ticks = m->cpu_total_ticks - v[3] - v[4];
	return 0;
}

/* Against `last`, unless the counters went back (another boot). */
static void compute_share(const struct phx_monitor *last, struct phx_monitor *m)
{
	uint64_t busy = m->cpu_busy_ticks, total = m->cpu_total_ticks;
	if (last && last->cpu_total_ticks <= total && last->cpu_busy_ticks <= busy) {
		busy -= last->cpu_busy_ticks;
		total -= last->cpu_total_ticks;
	}
	m->cpu_permille = total ? (uint32_t)(busy * 1000 / total) : 0;
	if (m->cpu_permille > 1000)
		m->cpu_permille = 1000;
}

static uint64_t kib_of(const char *text, const char *key)
{
	char value[32];
	uint64_t n = 0;
	phx_line_value(text, key, ':', value, sizeof(value));
	value[strcspn(value, " ")] = '\0';
	return phx_u64_parse(value, 0, UINT64_MAX >> 10, &n) < 0 ? 0 : n << 10;
}

static int read_memory(const char *root, struct phx_monitor *m)
{
	char text[8192];
	int r = phx_sys_text(root, text, sizeof(text), "proc/meminfo");
	if (r < 0)
		return r;
	m->memory_total_bytes = kib_of(text, "MemTotal");
	m->memory_available_bytes = kib_of(text, "MemAvailable");
	m->swap_total_bytes = kib_of(text, "SwapTotal");
	uint64_t free_bytes = kib_of(text, "SwapFree");
	m->swap_used_bytes =
		m->swap_total_bytes > free_bytes ? m->swap_total_bytes - free_bytes : 0;
	return m->memory_total_bytes ? 0 : -EBADMSG;
}

/* "major minor name reads merged sectors ms writes merged sectors …"; partitions and virtual
 * devices have no /sys/block/NAME/device. */
static void add_disk(const char *root, const char *line, struct phx_monitor *m)
{
	char name[32];
	unsigned long long read, written;
	if (sscanf(line, "%*u %*u %31s %*u %*u %llu %*u %*u %*u %llu", name, &read, &written) ==
		    3 &&
	    phx_sys_has(root, "sys/block/%s/device", name)) {
		m->disk_read_bytes += read * SECTOR;
		m->disk_written_bytes += written * SECTOR;
	}
}

/* "  eth0: rx_bytes packets errs drop fifo frame compressed multicast tx_bytes …" */
static void add_nic(const char *root, const char *line, struct phx_monitor *m)
{
	char name[32];
	unsigned long long rx, tx;
	if (sscanf(line, " %31[^: ]: %llu %*u %*u %*u %*u %*u %*u %*u %llu", name, &rx, &tx) == 3 &&
	    phx_sys_has(root, "sys/class/net/%s/device", name)) {
		m->net_rx_bytes += rx;
		m->net_tx_bytes += tx;
	}
}

static void each_line(const char *root, const char *path,
		      void (*fn)(const char *root, const char *line, struct phx_monitor *m),
		      struct phx_monitor *m)
{
	char text[TEXT_MAX];
	if (phx_sys_text(root, text, sizeof(text), "%s", path) < 0)
		return;
	for (char *save, *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		fn(root, line, m);
}

static void read_times(const char *root, struct phx_monitor *m)
{
	char text[128];
	unsigned int whole, centi;
	if (phx_sys_text(root, text, sizeof(text), "proc/loadavg") == 0 &&
	    sscanf(text, "%u.%2u", &whole, &centi) == 2)
		m->load1_centi = whole * 100 + centi;
	if (phx_sys_text(root, text, sizeof(text), "proc/uptime") == 0) {
		text[strcspn(text, ".")] = '\0';
		if (phx_u64_parse(text, 0, UINT64_MAX, &m->uptime_s) < 0)
			m->uptime_s = 0;
	}
}

int phx_monitor_read(const char *root, const struct phx_monitor *last, struct phx_monitor *ret,
		     struct phx_err *err)
{
	struct phx_monitor m = {0};
	int r = read_cpu(root, &m);
	if (r < 0)
		return phx_err_set(err, r, "%s/proc/stat: %s", root, strerror(-r));
	r = read_memory(root, &m);
	if (r < 0)
		return phx_err_set(err, r, "%s/proc/meminfo: %s", root, strerror(-r));
	compute_share(last, &m);
	each_line(root, "proc/diskstats", add_disk, &m);
	each_line(root, "proc/net/dev", add_nic, &m);
	read_times(root, &m);
	*ret = m;
	return 0;
}
