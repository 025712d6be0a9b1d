// The nodes of the cluster as the head knows them, kept up to date: read once in portions, then as the head tells them, each as it is now,
// four times a second at most. Who was too slow for that is told so, and reads all of them again.
import { events, get } from './api.js';
import { Subject } from './subject.js';

const FIELDS = 'name,number,state,pool,role,labels,up,reason,pinned,missing_since_ms';
const PORTION = 2500; // nodes of one answer
const NAMES = 60; // of one address: it must fit into the head's memory of a connection
const MANY = 600; // changed at once: then all are read, which is cheaper
const PAUSE_MS = 300;

export const moves = (node) => ['draining', 'cleaning', 'deploying'].includes(node.state);

const pause = (ms, signal) => new Promise((go) => {
	const timer = setTimeout(go, ms);
	signal.addEventListener('abort', () => { clearTimeout(timer); go(); }, { once: true });
});

export class Nodes {
	all = new Map();
	// told whenever something changed: how often by now
	changed = new Subject(0);
	state = new Subject({ loading: true });
	#abort = new AbortController();

	stop() {
		this.#abort.abort();
	}

	put(list) {
		for (const n of list) {
			const before = this.all.get(n.name);
			this.all.set(n.name, { ...n, plan: moves(n) ? n.plan ?? before?.plan : undefined });
		}
		this.changed.set(this.changed.value + 1);
	}

	#ask(path) {
		return get(path, { signal: this.#abort.signal, watch: true });
	}

	// What was shown stays until all of it is there.
	async #readAll() {
		const fresh = new Map();
		let after = 0, more = true;
		while (more) {
			const page = await this.#ask(`/v1/nodes?fields=${FIELDS}&sparse=yes&limit=${PORTION}&after=${after}`);
			for (const n of page.nodes)
				fresh.set(n.name, { ...n, plan: moves(n) ? this.all.get(n.name)?.plan : undefined });
			({ last: after, more } = page);
		}
		this.all = fresh;
		this.changed.set(this.changed.value + 1);
		await this.#readPlans([...fresh.values()].filter(moves).map((n) => n.name));
	}

	// Of nodes that move also the steps, which are most of a record.
	async #readPlans(names) {
		for (let i = 0; i < Math.min(names.length, MANY); i += NAMES) {
			const part = names.slice(i, i + NAMES).join(',');
			const { nodes } = await this.#ask(`/v1/nodes?fields=${FIELDS},plan&sparse=yes&names=${part}`);
			this.put(nodes);
		}
	}

	#take({ nodes, gone }) {
		for (const name of gone)
			this.all.delete(name);
		this.put(nodes);
	}

	// Opened before all is read, so that nothing is missed in between.
	async #follow(told) {
		for await (const { event, data } of told)
			if (event === 'lost')
				await this.#readAll();
			else
				this.#take(JSON.parse(data));
	}

	// Until it is stopped; what fails is tried again, and what was missed meanwhile is read.
	async run() {
		let wait = PAUSE_MS;
		while (!this.#abort.signal.aborted) {
			try {
				const told = await events('/v1/feed', { signal: this.#abort.signal });
				await this.#readAll();
				this.state.set({ loading: false });
				wait = PAUSE_MS;
				await this.#follow(told);
			} catch (error) {
				if (error.name === 'AbortError' || error.status === 401)
					return;
				wait = error.status === undefined ? PAUSE_MS : Math.min(2 * wait, 5000); // without a status the stream was cut
				this.state.set({ loading: false, error: error.status ? error.message : '' });
			}
			await pause(wait, this.#abort.signal);
		}
	}
}
