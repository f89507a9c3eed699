package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set by -ldflags "-X main.version=v1.2.3".
var version = "dev"

type versionCmd struct{}

func (versionCmd) Help() string { return "Example:\n\n    spillway version\n" }

func (versionCmd) Run(a *app) error {
	v := versionInfo{Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		v.read(info)
	}
	if a.json {
		return a.emit(v)
	}
	line := "spillway " + v.Version
	if v.Revision != "" {
		line += " (" + v.Revision + ")"
	}
	_, err := fmt.Fprintf(a.stdout, "%s %s %s/%s\n", line, v.Go, v.OS, v.Arch)
	return err
}

type versionInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

func (v *versionInfo) read(info *debug.BuildInfo) {
	if v.Version == "dev" && info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			v.Revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true" && v.Revision != "":
			v.Revision += "+changes"
		}
	}
}
