// Keeps what a page shows up to date: read once, and again behind the events that are about it. The head holds the request until something
// happens, so nothing is asked in vain.
import { get } from './api.js';
import { Subject } from './subject.js';

const PAUSE_MS = 1000; // events come together; what is read more often is not read better
const AGAIN_MS = 5000; // where the head said no for now

const pause = (ms) => new Promise((go) => setTimeout(go, ms));

export class Follow {
	value = new Subject(null);
	error = new Subject('');
	#abort = new AbortController();
	#last = 0;
	#read;
	#about;

	// read(ask): what is shown; about(event): is it about that? Both ask by what they are given, which ends when it is stopped.
	constructor(read, about) {
		this.#read = read;
		this.#about = about;
	}

	stop() {
		this.#abort.abort();
	}

	#ask = (path) => get(path, { signal: this.#abort.signal, watch: true });

	async read() {
		this.value.set(await this.#read(this.#ask, this.#abort.signal));
		this.error.set('');
	}

	async #wait() {
		for (let about = false; !about;) {
			const { events, last } = await this.#ask(`/v1/events?after=${this.#last}&wait=50`);
			this.#last = last;
			about = events.some(this.#about);
		}
	}

	async run() {
		let first = true;
		while (!this.#abort.signal.aborted) {
			try {
				if (first)
					({ seq: this.#last } = await this.#ask('/v1/status'));
				else
					await this.#wait();
				await this.read();
				first = false;
				await pause(PAUSE_MS);
			} catch (error) {
				if (error.name === 'AbortError' || error.status === 401)
					return;
				first = true;
				this.error.set(error.status ? error.message : '');
				await pause(AGAIN_MS);
			}
		}
	}
}
