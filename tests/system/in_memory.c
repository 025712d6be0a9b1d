/* Is a key in the memory of a process? in_memory PID HEX [unlocked]: how often those bytes are
 * there, in either order (numbers are kept with their last byte first); `unlocked`: in memory that
 * may be swapped, or is in dumps. Run by root: the kernel lets others look at nothing of a process
 * that wants it so. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_MAX = 256, CHUNK = 1 << 20 };

static uint8_t key[KEY_MAX], turned[KEY_MAX];
static size_t n_key;

static int read_key(const char *hex)
{
	for (; sscanf(hex, "%2hhx", &key[n_key]) == 1 && n_key < KEY_MAX - 1; hex += 2)
		n_key++;
	for (size_t i = 0; i < n_key; i++)
		turned[i] = key[n_key - 1 - i];
	return n_key >= 16 && !*hex ? 0 : -1;
}

static unsigned count(const uint8_t *data, size_t n)
{
	unsigned found = 0;
	for (size_t i = 0; i + n_key <= n; i++)
		found += (data[i] == key[0] && !memcmp(data + i, key, n_key)) ||
			(data[i] == turned[0] && !memcmp(data + i, turned, n_key));
	return found;
}

/* Pieces overlap, so that none hides between two. */
static unsigned search(int mem, uint64_t from, uint64_t to)
{
	static uint8_t data[CHUNK + KEY_MAX];
	unsigned found = 0;
	for (uint64_t at = from; at < to; at += CHUNK) {
		size_t want = to - at < sizeof(data) ? (size_t)(to - at) : sizeof(data);
		ssize_t n = pread(mem, data, want, (off_t)at);
		found += n > 0 ? count(data, (size_t)n) : 0;
	}
	return found;
}

int main(int argc, char **argv)
{
	char path[64], line[512];
	unsigned found = 0, n_read = 0;
	bool unlocked = argc == 4 && !strcmp(argv[3], "unlocked"), counts = false;
	uint64_t from = 0, to = 0, n, m;
	if ((argc != 3 && !unlocked) || read_key(argv[2]) < 0)
		return 2;
	snprintf(path, sizeof(path), "/proc/%s/smaps", argv[1]);
	FILE *maps = fopen(path, "r");
	snprintf(path, sizeof(path), "/proc/%s/mem", argv[1]);
	int mem = open(path, O_RDONLY);
	if (!maps || mem < 0)
		return 2;
	while (fgets(line, sizeof(line), maps)) {
		char rights[8];
		if (sscanf(line, "%lx-%lx %7s", &n, &m, rights) == 3) {
			from = n;
			to = m;
			counts = rights[1] == 'w';
		} else if (counts && !strncmp(line, "VmFlags:", 8)) {
			/* lo: locked, dd: in no dump */
			bool safe = strstr(line, " lo ") && strstr(line, " dd ");
			n_read++;
			found += unlocked && safe ? 0 : search(mem, from, to);
		}
	}
	fclose(maps);
	close(mem);
	printf("%u\n", found);
	return n_read ? 0 : 2;
}
