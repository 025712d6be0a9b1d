// One task of a run: where it is, on which node, how often it began, and what it printed, which its node is asked for piece by piece.
import { useEffect, useRef, useState } from 'preact/hooks';
import { get } from './api.js';
import { lookOf, markOfTask } from './flow_states.js';
import { html } from './html.js';
import { address } from './route.js';
import { may } from './session.js';

const END_BYTES = 128 * 1024; // of what is longer the end is shown first
const SHOWN_MAX = 400_000; // characters
const AGAIN_MS = 2000; // the head is told of no output while a task runs: its agent has to be asked again

function bytesOf(hex) {
	const bytes = new Uint8Array(hex.length / 2);
	for (let i = 0; i < bytes.length; i++)
		bytes[i] = parseInt(hex.slice(2 * i, 2 * i + 2), 16);
	return bytes;
}

// What was printed so far; more() fetches what there is beyond.
class Printed {
	text = '';
	left = 0; // bytes of the beginning that are not shown
	#decoder = new TextDecoder();
	#at = 0;
	#url;

	constructor(run, task, attempt) {
		this.#url = `/v1/workflows/${run}/output?task=${encodeURIComponent(task)}&attempt=${attempt}`;
	}

	async more(signal) {
		const ask = () => get(`${this.#url}&from=${this.#at}`, { signal, watch: true });
		for (let more = true; more;) {
			let piece = await ask();
			if (!this.#at && piece.size_bytes > END_BYTES) {
				this.left = this.#at = piece.size_bytes - END_BYTES;
				piece = await ask();
			}
			this.#at += piece.hex.length / 2;
			this.text = (this.text + this.#decoder.decode(bytesOf(piece.hex), { stream: true })).slice(-SHOWN_MAX);
			more = piece.hex.length > 0 && this.#at < piece.size_bytes;
		}
		return { text: this.text, left: this.left };
	}
}

function Output({ run, task, runs, goesOn }) {
	const [shown, setShown] = useState(null);
	const [error, setError] = useState('');
	const [follows, setFollows] = useState(true);
	const pre = useRef(null);
	useEffect(() => {
		const abort = new AbortController(), printed = new Printed(run, task, runs);
		let timer;
		const read = () => printed.more(abort.signal).then((s) => { setShown(s); setError(''); }, (e) => e.name !== 'AbortError' && setError(e.message))
			.then(() => { timer = follows && goesOn && !abort.signal.aborted ? setTimeout(read, AGAIN_MS) : 0; });
		read();
		return () => { abort.abort(); clearTimeout(timer); };
	}, [run, task, runs, goesOn, follows]);
	useEffect(() => {
		if (follows && pre.current)
			pre.current.scrollTop = pre.current.scrollHeight;
	}, [shown, follows]);
	return html`<h3>Output</h3>
		${goesOn && html`<label class="check"><input type="checkbox" checked=${follows} onChange=${(e) => setFollows(e.target.checked)} /> tail: show what is printed next</label>`}
		${shown?.left > 0 && html`<p class="quiet">The end of it: ${shown.left} bytes stand before. phx workflow output ${run} ${task} has all.</p>`}
		${error ? html`<p class="quiet" role="status">${error}</p>` : html`<pre tabindex="0" class="output" ref=${pre} aria-label="What the task printed">${shown ? shown.text || 'nothing yet' : 'asking its node …'}</pre>`}`;
}

function Facts({ task, told }) {
	const rows = [
		['State', html`<span class=${`state ${lookOf(told.state)}`}>${markOfTask(told.state)} ${told.state}</span>`], ['Kind', task.name !== task.id && task.name],
		['Node', told.node && html`<a href=${address('cluster', told.node)}>${told.node}</a>`],
		['Began', told.runs > 0 && (told.runs === 1 ? 'once' : `${told.runs} times`) + (told.losses ? `, ${told.losses} of them lost with the node` : '')],
		['Runs', task.command.length > 0 && html`<code>${task.command.map((w) => (/[\s"']/.test(w) || !w ? JSON.stringify(w) : w)).join(' ')}</code>`],
		['Wants', [task.cores ? `${task.cores} cores` : 'all cores of a node', task.memory_bytes && `${Math.round(task.memory_bytes / 2 ** 20)} MiB`].filter(Boolean).join(', ')],
		['Reads', task.inputs.join(', ')], ['Writes', task.outputs.join(', ')], ['Waits for', task.parents.join(', ')],
	];
	return html`<dl>${rows.filter(([, v]) => v).map(([k, v]) => html`<div key=${k}><dt>${k}</dt><dd>${v}</dd></div>`)}</dl>`;
}

// task: of the text of the workflow; told: what the head says of it; mayRead: may he see what it printed?
export function TaskView({ run, task, told, mayRead, onClose }) {
	return html`<aside class="node" aria-label=${`Task ${task.id}`}><div class="bar"><h2>${task.id}</h2>
			<button type="button" onClick=${onClose}>Close</button></div>
		${told ? html`<${Facts} task=${task} told=${told} />
			${told.runs > 0 && mayRead && may('job_output') && html`<${Output} key=${`${task.id}.${told.runs}`} run=${run} task=${task.id} runs=${told.runs} goesOn=${told.state === 'running'} />`}` : html`<p class="quiet">reading …</p>`}
	</aside>`;
}
