// What the states of a task look like, beside their colours (style/flow.css): a mark for who sees no colours; and those of a run.
export const taskStates = [
	{ name: 'waiting', mark: '' },
	{ name: 'ready', mark: '·' },
	{ name: 'running', mark: '▸' },
	{ name: 'done', mark: '✓' },
	{ name: 'failed', mark: '×' },
	{ name: 'skipped', mark: '–' },
];
export const markOfTask = (state) => taskStates.find((s) => s.name === state)?.mark ?? '';

// What of it is over looks as a job that is.
const looks = { active: 'running', held: 'queued', ending: 'queued', cancelled: '' };
export const lookOf = (status) => looks[status] ?? status;

export const isAbout = (event) => /^(workflow|trigger)_|^task_results$/.test(event.kind);

// Of runs that go on (null: not read yet): a task begins when a node is there, and no event of a node says which run has it.
const LOOK_S = 5;
export const lookS = (runs) => (runs?.every((r) => r?.ended_ms > 0) ? Infinity : LOOK_S);
