// Reads PEM texts, one JSON string a line, and prints for each the blocks that Go's encoding/pem gives: the judge of
// what every component of Kubernetes and etcd get from a file.
package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
)

type block struct {
	Type  string `json:"type"`
	Bytes string `json:"bytes"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<24)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var text string
		if err := json.Unmarshal(lines.Bytes(), &text); err != nil {
			panic(err)
		}
		blocks := []block{}
		for rest := []byte(text); ; {
			var found *pem.Block
			found, rest = pem.Decode(rest)
			if found == nil {
				break
			}
			blocks = append(blocks, block{found.Type, base64.StdEncoding.EncodeToString(found.Bytes)})
		}
		if err := out.Encode(blocks); err != nil {
			panic(err)
		}
	}
}
