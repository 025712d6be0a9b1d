// Keeps what a page shows up to date: read once, and again behind the events that are about it. The head holds the request until something
// happens, so nothing is asked in vain.
import { get } from './api.js';
import { Subject } from './subject.js';

const PAUSE_MS = 1000; // events come together; what is read more often is not read better
const HELD_S = 50; // by the head, while nothing happens
const AGAIN_MS = 5000; // where the head said no for now

const pause = (ms) => new Promise((go) => setTimeout(go, ms));

export class Follow {
	value = new Subject(null);
	error = new Subject('');
	#abort = new AbortController();
	#last = 0;
	#read;
	#about;
	#lookS;

	// read(ask): what is shown, by what it is given to ask, which ends when it is stopped; about(event): is it about that? lookS(shown): it is
	// read after so many seconds, too: not all that changes it is an event that he may see, or is told to be about it.
	constructor(read, about, lookS = () => Infinity) {
		this.#read = read;
		this.#about = about;
		this.#lookS = lookS;
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
		const until = Date.now() + 1000 * this.#lookS(this.value.value);
		for (let about = false; !about;) {
			const leftS = Math.max(1, Math.min(HELD_S, Math.ceil((until - Date.now()) / 1000)));
			const { events, last } = await this.#ask(`/v1/events?after=${this.#last}&wait=${leftS}`);
			this.#last = last;
			about = events.some(this.#about) || Date.now() >= until;
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
				this.error.set(error.status && error.status !== 429 ? error.message : '');
				await pause(error.retryAfterMs || AGAIN_MS);
			}
		}
	}
}
