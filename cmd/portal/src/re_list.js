// The runtime environments that who is signed in may see, and what was refused, kept up to date: read once, and again behind events.
import { get } from './api.js';
import { scope } from './session.js';
import { Subject } from './subject.js';

const PAUSE_MS = 1000; // events come together; a list that is read more often is not read better
const LOOK_S = 10;
const AGAIN_MS = 3000; // where the head said no for now, or is away

const pause = (ms) => new Promise((go) => setTimeout(go, ms));

export class ReList {
	// null until it was read: { res, refused }
	all = new Subject(null);
	error = new Subject('');
	#abort = new AbortController();
	#last = 0;

	stop() {
		this.#abort.abort();
	}

	#ask(path) {
		return get(path, { signal: this.#abort.signal, watch: true });
	}

	async read() {
		const { res, refused = [] } = await this.#ask('/v1/res');
		this.all.set({ res, refused });
		this.error.set('');
	}

	// Nodes that come and go, jobs, orders: each changes what is told of an RE. Of an RE's end only the resource provider is told, for then it is
	// nobody's: who is not he looks now and then.
	async #follow() {
		const { last } = await this.#ask(`/v1/events?after=${this.#last}&wait=${scope('events') === 'all' ? 50 : LOOK_S}`);
		this.#last = last;
	}

	async run() {
		let first = true;
		while (!this.#abort.signal.aborted) {
			try {
				if (first)
					({ seq: this.#last } = await this.#ask('/v1/status'));
				else
					await this.#follow();
				await this.read();
				first = false;
				await pause(PAUSE_MS);
			} catch (error) {
				if (error.name === 'AbortError' || error.status === 401)
					return;
				first = true;
				this.error.set(error.status && error.status !== 429 ? error.message : '');
				await pause(error.retryAfterMs || AGAIN_MS);
			}
		}
	}
}
