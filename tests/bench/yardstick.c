/* The yardstick of the simulator: reads a job log (SWF), runs EASY on NODES nodes, prints the mean
 * wait. As plain as C can be: no layers, no checks, whole seconds; also a second opinion on the
 * waits. usage: yardstick FILE NODES */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct job {
	long submit, run, estimate, size, start;
};
static struct job jobs[1 << 20];
static struct job *queue[1 << 20], *run_list[1 << 16]; /* run_list: by estimated end */
static long n_jobs, n_queue, n_running, idle, now, waited;

static void start(struct job *j)
{
	long i = n_running++;
	j->start = now;
	waited += now - j->submit;
	idle -= j->size;
	for (; i && run_list[i - 1]->start + run_list[i - 1]->estimate > now + j->estimate; i--)
		run_list[i] = run_list[i - 1];
	run_list[i] = j;
}

static void pass(void)
{
	long head = 0, shadow = 0, free_then, extra, kept;
	while (head < n_queue && queue[head]->size <= idle)
		start(queue[head++]);
	free_then = idle;
	for (long i = 0; head < n_queue && i < n_running; i++) {
		long end = run_list[i]->start + run_list[i]->estimate;
		if (free_then >= queue[head]->size && end > shadow)
			break;
		free_then += run_list[i]->size;
		shadow = end;
	}
	extra = head < n_queue ? free_then - queue[head]->size : 0;
	kept = 0;
	for (long i = head; i < n_queue; i++) {
		struct job *j = queue[i];
		if (i > head && j->size <= idle &&
		    (now + j->estimate <= shadow || j->size <= extra)) {
			if (now + j->estimate > shadow)
				extra -= j->size;
			start(j);
		} else {
			queue[kept++] = j;
		}
	}
	n_queue = kept;
}

int main(int argc, char **argv)
{
	static char line[4096];
	FILE *f = argc == 3 ? fopen(argv[1], "r") : NULL;
	long nodes = argc == 3 ? atol(argv[2]) : 0, next = 0;
	for (struct job j; f && fgets(line, sizeof(line), f);)
		if (line[0] != ';' &&
		    sscanf(line, "%*d %ld %*d %ld %ld %*f %*d %*d %ld", &j.submit, &j.run, &j.size,
			   &j.estimate) == 4)
			jobs[n_jobs++] = j;
	idle = nodes;
	while (next < n_jobs || n_running) {
		long end = next < n_jobs ? jobs[next].submit : __LONG_MAX__;
		for (long i = 0; i < n_running; i++)
			if (run_list[i]->start + run_list[i]->run < end)
				end = run_list[i]->start + run_list[i]->run;
		now = end;
		long kept = 0;
		for (long i = 0; i < n_running; i++)
			if (run_list[i]->start + run_list[i]->run == now)
				idle += run_list[i]->size;
			else
				run_list[kept++] = run_list[i];
		n_running = kept;
		while (next < n_jobs && jobs[next].submit == now)
			queue[n_queue++] = &jobs[next++];
		pass();
	}
	printf("{\"jobs\": %ld, \"mean_wait_s\": %.6f, \"seconds\": %.6f}\n", n_jobs,
	       (double)waited / (double)n_jobs, (double)clock() / CLOCKS_PER_SEC);
	return n_jobs == 0;
}
